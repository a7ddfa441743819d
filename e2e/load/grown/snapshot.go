package grown

import (
	"context"
	"fmt"
	"time"

	"github.com/gatehouse-hq/gatehouse/e2e/load/report"
)

// passes is what the relay's passes cost inside PostgreSQL, a call, and what
// came of them.
type passes struct {
	look, claim           time.Duration
	lookPages, claimPages float64
	delivered             float64 // a second
}

// snapshot compares the relay's passes without and with a transaction that was
// opened long ago and forgotten (field case F05).
func (g *growing) snapshot(ctx context.Context, section *report.Section) error {
	without, err := g.passes(ctx)
	if err != nil {
		return err
	}
	conn, err := g.Pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, `begin isolation level repeatable read`); err != nil {
		return err
	}
	defer func() { _, _ = conn.Exec(context.WithoutCancel(ctx), `rollback`) }()
	if _, err := conn.Exec(ctx, `select count(*) from owners`); err != nil { // the snapshot is taken by the first statement
		return err
	}
	if _, err := g.passes(ctx); err != nil { // leaves dead rows that nothing may clear away
		return err
	}
	with, err := g.passes(ctx)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name, unit string
		of         func(passes) float64
	}{
		{"the relay's look for work, time", "µs", func(p passes) float64 { return micro(p.look) }},
		{"the relay's look for work, pages", "", func(p passes) float64 { return p.lookPages }},
		{"the relay's claim, time", "µs", func(p passes) float64 { return micro(p.claim) }},
		{"the relay's claim, pages", "", func(p passes) float64 { return p.claimPages }},
		{"events delivered meanwhile", "/s", func(p passes) float64 { return p.delivered }},
	} {
		section.Add(report.Figure{Name: f.name + ", under an old snapshot", Values: []float64{f.of(with)}, Unit: f.unit,
			Ref: &report.Reference{Name: "without it", Value: f.of(without), Unit: f.unit}})
	}
	section.Note = fmt.Sprintf("Means a call inside PostgreSQL, over %s events in small commits while a REPEATABLE READ transaction sleeps; as many dead rows lie behind from a first such load. Pages, unlike times, do not depend on the machine", report.Number(float64(g.lab.N(10_000))))
	return nil
}

func micro(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// passes gives the relay many small commits.
func (g *growing) passes(ctx context.Context) (p passes, err error) {
	const commits = 100
	if err := g.ResetStatements(ctx); err != nil {
		return p, err
	}
	n := max(1, g.lab.N(10_000)/commits)
	began := time.Now()
	for range commits {
		if err := g.Write(ctx, n); err != nil {
			return p, err
		}
	}
	g.had += commits * n
	if err := g.To.WaitAll(ctx, 1, g.had); err != nil {
		return p, err
	}
	p.delivered = float64(commits*n) / time.Since(began).Seconds()
	if p.look, p.lookPages, err = g.PerCall(ctx, "pg_snapshot_xmin(pg_current_snapshot())"); err != nil {
		return p, err
	}
	p.claim, p.claimPages, err = g.PerCall(ctx, "for no key update skip locked")
	return p, err
}
