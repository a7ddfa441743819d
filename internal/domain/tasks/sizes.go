package tasks

import (
	"context"
	"fmt"
	"strings"
)

// Table is the size of one table and the rule that bounds it.
type Table struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	Rows  int64  `json:"rows"` // PostgreSQL's estimate; -1 before its first look
	Bound string `json:"bound"`
}

// bounds says what keeps each table that could run away from doing so.
func bounds(table string) string {
	switch table {
	case "events":
		return "14 days after they were handed over; waiting and poisoned ones stay"
	case "river_job":
		return "completed 24 h; discarded and cancelled 7 days"
	case "webhook_attempts":
		return "14 days, by dropping days; and a ceiling in bytes"
	case "webhook_deliveries":
		return "14 days after settling; parked 30 days"
	case "registries", "periodic_runs", "schema_stamp", "owners", "river_leader", "river_queue", "river_migration":
		return "a few rows"
	case "processes":
		return "a row for each start; seven days"
	case "tokens", "webhook_endpoints", "webhook_endpoint_state", "webhook_recoveries":
		return "as many as you make"
	case "throughput":
		return "7 days, a row for each ten minutes"
	case "sessions", "setup_tokens", "login_failures":
		return "pruned hourly"
	}
	if table == "notes" || table == "attachments" || strings.HasPrefix(table, "note_") || strings.HasPrefix(table, "search_") {
		return "as long as you keep the notes; 90 days in the trash"
	}
	return ""
}

// Tables lists the largest tables. Partitions count with their parent.
func (d *Domain) Tables(ctx context.Context) ([]Table, error) {
	rows, err := d.DB.Query(ctx, `
		select coalesce(parent.relname, c.relname), sum(pg_catalog.pg_total_relation_size(c.oid))::bigint, sum(c.reltuples)::bigint
		from pg_catalog.pg_class c
		join pg_catalog.pg_namespace n on n.oid = c.relnamespace
		left join pg_catalog.pg_inherits i on i.inhrelid = c.oid
		left join pg_catalog.pg_class parent on parent.oid = i.inhparent
		where c.relkind in ('r', 'p') and n.nspname not in ('pg_catalog', 'information_schema')
		group by 1 order by 2 desc, 1 limit 10`)
	if err != nil {
		return nil, fmt.Errorf("read table sizes: %w", err)
	}
	defer rows.Close()
	out := []Table{}
	for rows.Next() {
		var t Table
		if err := rows.Scan(&t.Name, &t.Bytes, &t.Rows); err != nil {
			return nil, err
		}
		t.Bound = bounds(t.Name)
		out = append(out, t)
	}
	return out, rows.Err()
}
