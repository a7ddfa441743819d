package river

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// schema is where the library's tables live, apart from ours.
const schema = "river"

// Migrate brings the library's schema to its newest version with its own
// migrator and then sets our indexes and the function that announces ends. It
// is meant for pg.Plan.Then, which runs it under the migration lock.
func Migrate(ctx context.Context, url string) (err error) {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return fmt.Errorf("open database for the queue's schema: %w", err)
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, `create schema if not exists river`); err != nil {
		return fmt.Errorf("create the queue's schema: %w", err)
	}
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: schema})
	if err != nil {
		return fmt.Errorf("prepare the queue's migrator: %w", err)
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate the queue's schema: %w", err)
	}
	for _, a := range additions() {
		var there bool
		if err := pool.QueryRow(ctx, `select `+a.there).Scan(&there); err != nil {
			return fmt.Errorf("look at the queue's schema: %w", err)
		}
		if there {
			continue
		}
		if _, err := pool.Exec(ctx, a.make); err != nil {
			return fmt.Errorf("add to the queue's schema: %w", err)
		}
	}
	return nil
}

// addition is a statement, and the question whether it has been run. "If not exists" would not do: it locks the table before
// it looks, so that every start would wait for the writers of the moment, and new ones for the start.
type addition struct{ there, make string }

// additions make the panel's lists quick at a million rows without making
// writes dearer: (kind, state, id) takes the place of the library's index on
// kind alone, the GIN on metadata is used by nobody and slow to keep.
func additions() []addition {
	return []addition{
		{`to_regclass('river.gatehouse_job_kind_state') is not null`, `create index if not exists gatehouse_job_kind_state on river.river_job (kind, state, id)`},
		{`to_regclass('river.gatehouse_job_errors') is not null`, `create index if not exists gatehouse_job_errors on river.river_job (id) where errors is not null`},
		{`to_regclass('river.river_job_kind') is null`, `drop index if exists river.river_job_kind`},
		{`to_regclass('river.river_job_metadata_index') is null`, `drop index if exists river.river_job_metadata_index`},
		{
			`coalesce((select reloptions @> '{autovacuum_vacuum_scale_factor=0.02,autovacuum_vacuum_threshold=1000}' from pg_class where oid = 'river.river_job'::regclass), false)`,
			`alter table river.river_job set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000)`,
		},
		{`false`, `create or replace function river.gatehouse_job_final() returns trigger
language plpgsql
set search_path = ''
as $$
begin
  perform pg_catalog.pg_notify('gatehouse_job_final', new.id::text);
  return null;
end
$$`},
	}
}

const finalTrigger = "gatehouse_job_final"

// installTrigger makes the ends of the awaited kinds heard. Kinds that another
// version of the program awaits stay in the list, so that a rolling upgrade
// cannot silence it. The list is kept as the trigger's comment.
func installTrigger(ctx context.Context, tx pgx.Tx, awaited []string) error {
	// One at a time, and only against itself: the number is arbitrary.
	if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(7234018)`); err != nil {
		return err
	}
	var installed []string
	err := tx.QueryRow(ctx, `
select array(select jsonb_array_elements_text(obj_description(t.oid, 'pg_trigger')::jsonb))
from pg_trigger t where t.tgrelid = 'river.river_job'::regclass and t.tgname = $1 and t.tgenabled = 'O'`, finalTrigger).Scan(&installed)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	found := err == nil
	all := union(installed, awaited)
	if found && len(all) == len(installed) {
		return nil
	}
	// Statements that define things take no parameters; let the server quote.
	var list, comment string
	if err := tx.QueryRow(ctx, `select coalesce((select string_agg(quote_literal(k), ',') from unnest($1::text[]) k), ''), quote_literal(to_jsonb($1::text[])::text)`, all).Scan(&list, &comment); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `create or replace trigger `+finalTrigger+` after update of state on river.river_job for each row
when (old.finalized_at is null and new.finalized_at is not null and new.kind = any (array[`+list+`]::text[]))
execute function river.gatehouse_job_final();
comment on trigger `+finalTrigger+` on river.river_job is `+comment)
	return err
}

func union(a, b []string) []string {
	seen := map[string]bool{}
	out := []string{}
	for _, s := range append(append([]string{}, a...), b...) {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}
