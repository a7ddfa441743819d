package grown

import (
	"context"
	"syscall"
	"time"

	"github.com/gatehouse-hq/gatehouse/e2e/load/lab"
	"github.com/gatehouse-hq/gatehouse/e2e/load/product"
	"github.com/gatehouse-hq/gatehouse/e2e/load/report"
)

// Grown lets a site grow to a million finished events and jobs and measures on the way.
func Grown(ctx context.Context, l *lab.Lab, r *report.Report) error {
	return product.With(ctx, l, 12*time.Minute, func(ctx context.Context, s *product.Site) error {
		if err := s.Subscribe(ctx, 1); err != nil {
			return err
		}
		g := &growing{Site: s, lab: l}
		if err := g.levels(ctx, r.Section("Growth: what one event costs beside finished ones")); err != nil {
			return err
		}
		if err := g.snapshot(ctx, r.Section("A forgotten snapshot")); err != nil {
			return err
		}
		if err := s.Exec(ctx, seedOpen); err != nil {
			return err
		}
		return panel(ctx, l, s, r.Section("The panel over these tables, p95 of the whole answer"))
	})
}

// growing is a site whose one receiver has had so many events.
type growing struct {
	*product.Site
	lab *lab.Lab
	had int
}

// cost is what one event took on its way.
type cost struct {
	delivered, fannedOut, server float64 // µs
	statements                   float64
}

// levels measures at 10 k, 100 k and 1 M rows in both tables.
func (g *growing) levels(ctx context.Context, section *report.Section) error {
	var first []float64
	seeded := 0
	for _, full := range []int{10_000, 100_000, 1_000_000} {
		rows := g.lab.N(full)
		// The server does not run meanwhile: seeding locks the queue's table for
		// longer than a process may be without its heartbeat.
		g.Server.Signal(syscall.SIGTERM)
		if err := seed(ctx, g.Site, seeded, rows); err != nil {
			return err
		}
		seeded = rows
		ready, err := g.Start(ctx)
		if err != nil {
			return err
		}
		if err := g.write(ctx, g.lab.N(500)); err != nil { // opens connections
			return err
		}
		var costs []cost
		for range g.lab.Rounds {
			c, err := g.cost(ctx, g.lab.N(3000))
			if err != nil {
				return err
			}
			costs = append(costs, c)
		}
		name := report.Number(float64(rows)) + " rows: "
		for i, f := range []report.Figure{
			{Name: name + "start to ready", Unit: "ms", Values: []float64{report.Milliseconds(ready)}},
			{Name: name + "written → delivered", Unit: "µs", Values: each(costs, func(c cost) float64 { return c.delivered })},
			{Name: name + "written → fanned out", Unit: "µs", Values: each(costs, func(c cost) float64 { return c.fannedOut })},
			{Name: name + "time inside PostgreSQL", Unit: "µs", Values: each(costs, func(c cost) float64 { return c.server })},
			{Name: name + "statements", Values: each(costs, func(c cost) float64 { return c.statements })},
		} {
			if len(first) <= i {
				first = append(first, f.Median())
			} else {
				f.Ref = &report.Reference{Name: "at " + report.Number(float64(g.lab.N(10_000))), Value: first[i], Unit: f.Unit}
			}
			section.Add(f)
		}
	}
	section.Note = "Rows are those of each of the tables events and river_job. A burst of events is written for one endpoint; the time of the whole burst is divided by its events"
	return nil
}

func each(costs []cost, of func(cost) float64) (values []float64) {
	for _, c := range costs {
		values = append(values, of(c))
	}
	return values
}

// cost writes n events at once and divides what became of them.
func (g *growing) cost(ctx context.Context, n int) (c cost, err error) {
	var before int64
	if err := g.Pool.QueryRow(ctx, `select coalesce(max(seq), 0) from events`).Scan(&before); err != nil {
		return c, err
	}
	if err := g.ResetStatements(ctx); err != nil {
		return c, err
	}
	began := time.Now()
	if err := g.write(ctx, n); err != nil {
		return c, err
	}
	took := time.Since(began)
	if err := g.Settled(ctx); err != nil {
		return c, err
	}
	calls, server, err := g.Statements(ctx)
	if err != nil {
		return c, err
	}
	fanned, err := g.Count(ctx, `select extract(epoch from max(fanned_out_at) - min(occurred_at))::float8 from events where seq > $1`, before)
	per := float64(n)
	return cost{float64(took.Microseconds()) / per, fanned * 1e6 / per, float64(server.Microseconds()) / per, calls / per}, err
}

// write writes n events and waits until the receiver has had them.
func (g *growing) write(ctx context.Context, n int) error {
	if err := g.Write(ctx, n); err != nil {
		return err
	}
	g.had += n
	return g.To.WaitAll(ctx, 1, g.had)
}
