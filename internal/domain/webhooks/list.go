package webhooks

import (
	"cmp"
	"context"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// ListIn asks for the endpoints there are, or for those that were deleted and still have a log.
type ListIn struct {
	Deleted bool   `json:"deleted,omitempty" jsonschema:"list deleted endpoints instead, while their log is kept"`
	Cursor  string `json:"cursor,omitempty" jsonschema:"next of the page before"`
	Limit   int    `json:"limit,omitempty" jsonschema:"1 to 100, default 50"`
}

// ListOut is a page of endpoints, oldest first.
type ListOut struct {
	Endpoints []Endpoint `json:"endpoints"`
	Next      string     `json:"next,omitempty" jsonschema:"cursor of the next page; absent on the last one"`
}

// List pages through the endpoints, oldest first. A cursor is the endpoint that a page ended with: also when it was
// deleted meanwhile, its place is known while its log is kept.
func (d *Domain) List(ctx context.Context, in ListIn) (ListOut, error) {
	out := ListOut{Endpoints: []Endpoint{}}
	in.Limit = cmp.Or(in.Limit, 50)
	if in.Limit < 1 || in.Limit > 100 {
		return out, op.Invalidf("limit", "Choose 1 to 100.")
	}
	where, args := `where (e.deleted_at is not null) = $1`, []any{in.Deleted, in.Limit + 1}
	if in.Cursor != "" {
		known, err := endpointKnown(ctx, d.DB, in.Cursor)
		if err != nil {
			return out, err
		}
		if !known {
			return out, op.Invalidf("cursor", "This is no cursor of this list. Start again without it.")
		}
		where += ` and (e.created_at, e.id) > (select c.created_at, c.id from public.webhook_endpoints c where c.id = $3::uuid)`
		args = append(args, in.Cursor)
	}
	rows, err := readRows(ctx, d.DB, where+` order by e.created_at, e.id limit $2`, args...)
	if err != nil {
		return out, err
	}
	if len(rows) > in.Limit {
		rows = rows[:in.Limit]
		out.Next = rows[in.Limit-1].ID
	}
	list, err := d.show(ctx, d.DB, rows...)
	out.Endpoints = append(out.Endpoints, list...)
	return out, err
}

func endpointKnown(ctx context.Context, q pg.Querier, id string) (bool, error) {
	if !pg.ValidUUID(id) {
		return false, nil
	}
	_, err := read(ctx, q, id, "")
	if op.CodeOf(err) == op.NotFound {
		return false, nil
	}
	return err == nil, err
}
