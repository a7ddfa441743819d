package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/search"
)

// Engine keeps its index in the table search_documents.
type Engine struct{ db *pg.DB }

var _ search.Engine = (*Engine)(nil)

// New returns the engine in db.
func New(db *pg.DB) *Engine { return &Engine{db: db} }

// Name is shown to the operator.
func (e *Engine) Name() string { return "PostgreSQL" }

// Check proves that the index can be read.
func (e *Engine) Check(ctx context.Context) error {
	var one int
	err := e.db.QueryRow(ctx, `select count(*) from (select from search_documents limit 1) as held`).Scan(&one)
	if err != nil {
		return fmt.Errorf("the search table cannot be read; run gatehouse migrate, then retry the failed tasks: %w", err)
	}
	return nil
}

// Prepare has nothing to do: the table comes with the schema.
func (e *Engine) Prepare(ctx context.Context) error { return e.Check(ctx) }

// Upsert writes documents in one statement. A document made from an older
// version of its note than the one held changes nothing: two workers may race
// (field case F31).
func (e *Engine) Upsert(ctx context.Context, docs []search.Document) error {
	var b pgx.Batch
	for _, d := range docs {
		names := append([]string{d.Title}, d.Aliases...)
		for i := range names {
			names[i] = strings.TrimSpace(fold(names[i]).String())
		}
		text := strings.Join([]string{d.Title, strings.Join(d.Aliases, "\n"), strings.Join(d.Tags, "\n"), d.Body}, "\n")
		b.Queue(`
insert into search_documents as held (id, genre, title, aliases, tags, body, published, updated_at, version, names, folded, terms)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::tsvector)
on conflict (id) do update set genre = excluded.genre, title = excluded.title, aliases = excluded.aliases,
	tags = excluded.tags, body = excluded.body, published = excluded.published, updated_at = excluded.updated_at,
	version = excluded.version, names = excluded.names, folded = excluded.folded, terms = excluded.terms
where held.version <= excluded.version`,
			d.ID, d.Genre, d.Title, orEmpty(d.Aliases), orEmpty(d.Tags), d.Body, d.Published, d.UpdatedAt, d.Version,
			names, fold(text).String(), vectorOf(d))
	}
	if err := e.db.SendBatch(ctx, &b).Close(); err != nil {
		return fmt.Errorf("index %d documents: %w", len(docs), err)
	}
	return nil
}

// Remove deletes documents; ids that are not there are fine.
func (e *Engine) Remove(ctx context.Context, ids []string) error {
	if _, err := e.db.Exec(ctx, `delete from search_documents where id = any($1::uuid[])`, ids); err != nil {
		return fmt.Errorf("remove %d documents: %w", len(ids), err)
	}
	return nil
}

// Each goes through everything held, in pages of 1,000.
func (e *Engine) Each(ctx context.Context, fn func([]search.Held) error) error {
	const page = 1000
	after := "00000000-0000-0000-0000-000000000000"
	for {
		rows, err := e.db.Query(ctx, `select id::text, version from search_documents where id > $1::uuid order by id limit $2`, after, page)
		if err != nil {
			return fmt.Errorf("list the index: %w", err)
		}
		held, err := pgx.CollectRows(rows, pgx.RowToStructByPos[search.Held])
		if err != nil {
			return fmt.Errorf("list the index: %w", err)
		}
		if len(held) > 0 {
			if err := fn(held); err != nil {
				return err
			}
			after = held[len(held)-1].ID
		}
		if len(held) < page {
			return nil
		}
	}
}

// Search finds documents that hold every word. Best first: a name that is
// exactly what was asked, names that hold every word (the larger its part of the
// name, the better), then tags and text by density.
func (e *Engine) Search(ctx context.Context, q search.Query) (search.Results, error) {
	res := search.Results{Hits: []search.Hit{}}
	asked, ok := ask(q.Text)
	if !ok {
		return res, nil
	}
	patterns := make([]string, len(asked.words))
	for i, w := range asked.words {
		patterns[i] = like(w)
	}
	err := pg.InTx(ctx, e.db, func(tx pg.Tx) error {
		// A word that most notes hold makes the planner read the table, terms and
		// all, instead of the index: it does not know what unpacking them costs.
		if _, err := tx.Exec(ctx, `set local enable_seqscan = off`); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, searchSQL, asked.tsquery, patterns, q.PublishedOnly, asked.whole, strings.TrimPrefix(like(asked.whole), "%"),
			min(max(q.Limit, 1), 100), max(q.Offset, 0), verified, ranked)
		if err != nil {
			return err
		}
		return read(rows, asked.words, &res)
	})
	if err != nil {
		return search.Results{Hits: []search.Hit{}}, fmt.Errorf("search: %w", err)
	}
	return res, nil
}

// Of a word that very many notes hold, the first hits by class and last change
// are verified, and of these again the first compared by density. Those beyond
// verified are neither shown nor counted (search.Results.Total).
const (
	verified = 1000
	ranked   = 300
)

// searchSQL reads only names and tags of all that the terms propose, and texts
// and terms, which are large and packed, of the verified ones.
const searchSQL = `
with proposed as materialized (
	select id, updated_at,
		case when names[1] = $4 then 100
			when $4 = any(names) then 80
			when names[1] like $5 then 29 + 30.0 * length($4) / length(names[1])
			when names[1] like all($2) then 25 + 30.0 * least(length($4), length(names[1])) / length(names[1])
			when array_to_string(names, ' ') like all($2) then 20
			else 0 end as class,
		lower(array_to_string(tags, ' ')) like all($2) as tagged
	from search_documents
	where terms @@ $1::tsquery and (published or not $3)
), near as (
	select id, class, row_number() over (order by class desc, tagged desc, updated_at desc, id) as n
	from proposed order by n limit $8
), found as (
	select d.id, d.title, d.body, d.updated_at, d.version,
		near.class + case when n <= $9 then 10 * ts_rank('{0.1, 0.2, 0.6, 1.0}', d.terms, $1::tsquery, 1) else 0 end as score
	from near join search_documents d using (id)
	where d.folded like all($2)
)
select id::text, title, body, version, score, count(*) over () from found
order by score desc, updated_at desc, id
limit $6 offset $7`

func read(rows pgx.Rows, words []string, res *search.Results) error {
	res.Hits, res.Total = []search.Hit{}, 0
	defer rows.Close()
	for rows.Next() {
		var h search.Hit
		var title, body string
		if err := rows.Scan(&h.ID, &title, &body, &h.Version, &h.Score, &res.Total); err != nil {
			return err
		}
		h.Title, h.Excerpt = marked(title, words), excerpt(body, words)
		res.Hits = append(res.Hits, h)
	}
	return rows.Err()
}

func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
