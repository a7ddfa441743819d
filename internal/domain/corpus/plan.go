package corpus

import (
	"context"
	"fmt"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// planDelete says beforehand which notes a deletion would take along, and lets
// it fail if they are others by then.
func (d *Domain) planDelete(ctx context.Context, in DeleteIn) (op.Preview, DeleteIn, error) {
	ids, err := checkIDs(in.IDs)
	if err != nil {
		return op.Preview{}, in, err
	}
	p := op.Preview{Summary: "Put these notes and all below them into the trash, where they stay 90 days."}
	var found int
	var all []string
	err = d.db.QueryRow(ctx, `
		with recursive below as (
			select id, title from public.notes where id = any($1::uuid[]) and deleted_at is null
			union
			select c.id, c.title from public.notes c join below b on c.parent_id = b.id where c.deleted_at is null
		) select count(*), count(*) filter (where id = any($1::uuid[])), coalesce((array_agg(title order by id))[1:5], '{}'),
			coalesce(array_agg(id::text order by id), '{}') from below`, ids).
		Scan(&p.Count, &found, &p.Sample, &all)
	if err != nil {
		return op.Preview{}, in, fmt.Errorf("look what would be deleted: %w", err)
	}
	if found < len(ids) {
		return op.Preview{}, in, errNotFound
	}
	return p, DeleteIn{IDs: ids, Seen: fingerprint(all)}, nil
}

// planPublish says beforehand which notes would become public, or private
// again. The ids are all there is to freeze.
func (d *Domain) planPublish(ctx context.Context, in publishIn) (op.Preview, publishIn, error) {
	ids, err := checkIDs(in.IDs)
	if err != nil {
		return op.Preview{}, in, err
	}
	p := op.Preview{Summary: "Make these notes visible to everybody; those that are already stay so."}
	if !in.Published {
		p.Summary = "Take these notes back, so that nobody but the owner finds them; those that are private already stay so."
	}
	var found int
	err = d.db.QueryRow(ctx, `
		select count(*), count(*) filter (where published <> $2), coalesce((array_agg(title order by id) filter (where published <> $2))[1:5], '{}')
		from public.notes where id = any($1::uuid[]) and deleted_at is null`, ids, in.Published).Scan(&found, &p.Count, &p.Sample)
	if err != nil {
		return op.Preview{}, in, fmt.Errorf("look what would be published: %w", err)
	}
	if found < len(ids) {
		return op.Preview{}, in, errNotFound
	}
	return p, publishIn{IDs: ids, Published: in.Published}, nil
}
