package river

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

const (
	defaultPage = 50
	maxPage     = 100
	// listLimit bounds one look at the queue; a filter that needs longer says so
	// instead of holding a connection.
	listLimit = 3 * time.Second
)

// List answers newest first. Filters by state and kind follow the index
// (kind, state, id), args the library's GIN index, errors a partial index.
func (rt *Runtime) List(ctx context.Context, f jobs.Filter) (jobs.Page, error) {
	limit := f.Limit
	if limit <= 0 {
		limit = defaultPage
	}
	limit = min(limit, maxPage)
	before := int64(1<<63 - 1)
	if f.Cursor != "" {
		n, err := strconv.ParseInt(f.Cursor, 36, 64)
		if err != nil || n < 1 {
			return jobs.Page{}, fmt.Errorf("%w: the cursor did not come from this list", jobs.ErrBadFilter)
		}
		before = n
	}
	var page jobs.Page
	err := rt.bounded(ctx, func(tx pg.Tx) error {
		q, err := rt.listQuery(ctx, tx, f, before, limit+1)
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, q.sql, q.args...)
		if err != nil {
			return err
		}
		found, err := pgx.CollectRows(rows, rt.scanJob)
		if err != nil {
			return err
		}
		for i, s := range found {
			if i == limit {
				page.Next = strconv.FormatInt(int64(found[i-1].job.ID), 36)
				break
			}
			page.Jobs = append(page.Jobs, s.job)
		}
		return nil
	})
	if err != nil {
		return jobs.Page{}, fmt.Errorf("list tasks: %w", err)
	}
	return page, nil
}

// bounded runs fn in a read-only transaction that gives up after listLimit.
func (rt *Runtime) bounded(ctx context.Context, fn func(tx pg.Tx) error) error {
	return pg.InTx(ctx, rt.db, func(tx pg.Tx) error {
		// gin_fuzzy_search_limit and friends stay untouched; only time is bounded.
		if _, err := tx.Exec(ctx, fmt.Sprintf(`set transaction read only; set local statement_timeout = %d`, listLimit.Milliseconds())); err != nil {
			return err
		}
		return fn(tx)
	})
}

type query struct {
	sql  string
	args []any
}

func (q *query) add(v any) string {
	q.args = append(q.args, v)
	return "$" + strconv.Itoa(len(q.args))
}

func (rt *Runtime) listQuery(ctx context.Context, tx pg.Tx, f jobs.Filter, before int64, limit int) (*query, error) {
	q := &query{}
	where := []string{"id < " + q.add(before)}
	if f.AfterID > 0 {
		where = append(where, "id > "+q.add(f.AfterID))
	}
	if f.ID > 0 {
		where = append(where, "id = "+q.add(f.ID))
	}
	if len(f.IDs) > 0 {
		where = append(where, "id = any("+q.add(f.IDs)+"::bigint[])")
	}
	for k, v := range f.Args {
		where = append(where, "args @> any ("+q.add(argForms(k, v))+"::jsonb[])")
	}
	if f.Error != "" {
		where = append(where, "errors is not null", "exists (select from unnest(errors) e where e ->> 'error' ilike "+q.add("%"+likeText(f.Error)+"%")+")")
	}
	n := q.add(limit)
	if f.ID > 0 || len(f.IDs) > 0 || len(f.Args) > 0 || f.Error != "" || (f.Kind == "" && len(f.States) == 0) {
		where = append(where, plainConditions(q, f)...)
		q.sql = `select ` + columns + ` from river.river_job where ` + strings.Join(where, " and ") + ` order by id desc limit ` + n
		return q, nil
	}
	kinds := []string{f.Kind}
	if f.Kind == "" {
		var err error
		if kinds, err = rt.allKinds(ctx, tx); err != nil {
			return nil, err
		}
	}
	ids, err := newest(ctx, tx, q.pick(where, kinds, f.States, n))
	if err != nil {
		return nil, err
	}
	q = &query{}
	q.sql = `select ` + columns + ` from river.river_job where id = any (` + q.add(ids) + `::bigint[]) order by id desc`
	return q, nil
}

// pick makes q the choice of the newest n ids: one short walk down the index
// for each kind and state, merged. Quick also when ten discarded jobs hide
// among a million completed ones. See steer.
func (q *query) pick(where, kinds []string, states []jobs.State, n string) *query {
	if len(states) == 0 {
		states = jobs.States()
	}
	var ks, raws []string
	var mins, maxs []int
	for _, k := range kinds {
		for _, b := range bands(states) {
			ks, raws, mins, maxs = append(ks, k), append(raws, b.raw), append(mins, b.min), append(maxs, b.max)
		}
	}
	q.sql = `select j.id from unnest(` + q.add(ks) + `::text[], ` + q.add(raws) + `::text[], ` + q.add(mins) + `::int[], ` + q.add(maxs) + `::int[]) as p(kind, state, least, most)
cross join lateral (
  select id from river.river_job where kind = any (array[p.kind]) and state = p.state::river.river_job_state and attempt between p.least and p.most
    and ` + strings.Join(where, " and ") + ` order by kind desc, id desc limit ` + n + `) j
order by j.id desc limit ` + n
	return q
}

func newest(ctx context.Context, tx pg.Tx, q *query) ([]int64, error) {
	if _, err := tx.Exec(ctx, steer); err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, q.sql, q.args...)
	if err != nil {
		return nil, err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, unsteer)
	return ids, err
}

func plainConditions(q *query, f jobs.Filter) []string {
	var where []string
	if f.Kind != "" {
		where = append(where, "kind = "+q.add(f.Kind))
	}
	if len(f.States) > 0 {
		var or []string
		for _, b := range bands(f.States) {
			or = append(or, fmt.Sprintf("(state = %s::river.river_job_state and attempt between %d and %d)", q.add(b.raw), b.min, b.max))
		}
		where = append(where, "("+strings.Join(or, " or ")+")")
	}
	return where
}

// argForms are the JSON values that read as the text v: what a person types
// does not say whether it is a number. The index answers each of them.
func argForms(key, v string) []string {
	values := []any{clean(v, 1000)}
	if n := json.Number(v); v != "" && json.Valid([]byte(v)) && storableNumber(v) == nil {
		if _, err := n.Float64(); err == nil {
			values = append(values, n)
		}
	}
	switch v {
	case "true", "false":
		values = append(values, v == "true")
	case "null", "":
		values = append(values, nil)
	}
	out := make([]string, 0, len(values))
	for _, val := range values {
		if b, err := json.Marshal(map[string]any{clean(key, 200): val}); err == nil {
			out = append(out, string(b))
		}
	}
	return out
}

// likeText quotes what LIKE would take for a pattern.
func likeText(s string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(clean(s, 200))
}

// allKinds are the declared kinds and those that only rows still know, found
// by hopping over the index.
func (rt *Runtime) allKinds(ctx context.Context, tx pg.Tx) ([]string, error) {
	rows, err := tx.Query(ctx, `
with recursive hop as (
  (select kind from river.river_job order by kind limit 1)
  union all
  select (select kind from river.river_job where kind > hop.kind order by kind limit 1) from hop where hop.kind is not null
)
select kind from hop where kind is not null limit 200`)
	if err != nil {
		return nil, err
	}
	stored, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(rt.order))
	for _, k := range rt.order {
		names = append(names, k.Name)
	}
	return union(names, stored), nil
}
