package webhooks

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

const (
	daysAhead = 3
	// LogBytes is the most the log of attempts may take; the oldest days go first, and two always stay.
	LogBytes = 4 << 30
)

const partitionLayout = "webhook_attempts_20060102"

// Partitions keeps the log of attempts in days: the next ones are made ahead, old ones are dropped whole. Attempts of a day
// nobody prepared are in the default partition, from which they are deleted row by row.
func (d *Domain) Partitions(ctx context.Context) error {
	now, err := pg.Now(ctx, d.DB)
	if err != nil {
		return err
	}
	today := now.UTC().Truncate(24 * time.Hour)
	made := 0
	for i := range daysAhead + 1 {
		ok, err := d.makePartition(ctx, today.AddDate(0, 0, i))
		if err != nil {
			return err
		}
		if ok {
			made++
		}
	}
	dropped, err := d.dropPartitions(ctx, today)
	if err != nil {
		return err
	}
	if _, err := d.DB.Exec(ctx, `delete from public.webhook_attempts_rest where started_at < clock_timestamp() - $1::interval`, LogKept); err != nil {
		return fmt.Errorf("delete old attempts: %w", err)
	}
	jobs.Report(ctx, map[string]int{"made": made, "dropped": dropped})
	return nil
}

// makePartition makes the partition of a day, unless it exists or the default one has taken rows of that day. It waits at
// most two seconds for its lock, before which every writer of attempts would queue.
func (d *Domain) makePartition(ctx context.Context, day time.Time) (made bool, err error) {
	name := day.Format(partitionLayout)
	next := day.AddDate(0, 0, 1)
	err = pg.InTx(ctx, d.DB, func(tx pg.Tx) error {
		var there bool
		err := tx.QueryRow(ctx, `
select to_regclass('public.' || $1) is not null or exists (select from public.webhook_attempts_rest where started_at >= $2 and started_at < $3)`,
			name, day, next).Scan(&there)
		if err != nil || there {
			return err
		}
		if _, err := tx.Exec(ctx, `set local lock_timeout = '2s'`); err != nil {
			return err
		}
		made = true
		_, err = tx.Exec(ctx, fmt.Sprintf(`create table public.%s partition of public.webhook_attempts for values from ('%s') to ('%s')`,
			pgx.Identifier{name}.Sanitize(), day.Format(time.RFC3339), next.Format(time.RFC3339)))
		return err
	})
	if err != nil {
		return false, fmt.Errorf("prepare the log of %s: %w", day.Format(time.DateOnly), err)
	}
	return made, nil
}

func (d *Domain) dropPartitions(ctx context.Context, today time.Time) (dropped int, err error) {
	rows, err := d.DB.Query(ctx, `
select c.relname, pg_total_relation_size(c.oid) from pg_inherits i join pg_class c on c.oid = i.inhrelid
where i.inhparent = 'public.webhook_attempts'::regclass and c.relname ~ '^webhook_attempts_[0-9]{8}$' order by c.relname desc`)
	if err != nil {
		return 0, fmt.Errorf("list the days of the log: %w", err)
	}
	type part struct {
		Name string
		Size int64
	}
	parts, err := pgx.CollectRows(rows, pgx.RowToStructByPos[part])
	if err != nil {
		return 0, fmt.Errorf("list the days of the log: %w", err)
	}
	oldest := today.Add(-LogKept).Format(partitionLayout)
	spared := today.AddDate(0, 0, -1).Format(partitionLayout)
	var total int64
	for _, p := range parts {
		total += p.Size
		if p.Name >= oldest && (total <= LogBytes || p.Name >= spared) {
			continue
		}
		if _, err := d.DB.Exec(ctx, `drop table public.`+pgx.Identifier{p.Name}.Sanitize()); err != nil {
			return dropped, fmt.Errorf("drop a day of the log: %w", err)
		}
		dropped++
	}
	return dropped, nil
}
