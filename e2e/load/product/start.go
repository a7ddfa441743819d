package product

import (
	"context"
	"fmt"
	"time"

	"github.com/gatehouse-hq/gatehouse/e2e/load/lab"
	"github.com/gatehouse-hq/gatehouse/e2e/load/report"
)

// Start measures from the process's start to ready on an existing database,
// and the memory of a server that does nothing.
func Start(ctx context.Context, l *lab.Lab, r *report.Report) error {
	section := r.Section("Start and memory")
	return With(ctx, l, 2*time.Minute, func(ctx context.Context, s *Site) error {
		var took []float64
		for range max(5, l.Rounds) {
			t, err := s.Restart(ctx)
			if err != nil {
				return err
			}
			took = append(took, report.Milliseconds(t))
		}
		section.Add(report.Figure{Name: "start to ready, existing database", Values: took, Unit: "ms", Bar: report.AtMost(1000)})
		time.Sleep(time.Duration(l.N(10_000)) * time.Millisecond) // periodics of the start have run
		idle, err := s.memory("VmRSS")
		if err != nil {
			return err
		}
		section.Add(report.Figure{Name: "resident memory, idle", Values: []float64{idle}, Unit: "MB", Bar: report.AtMost(60)})
		return s.peak(ctx, l, section)
	})
}

// peak gives the running server what the table's first row gives the parts
// inside the bench, and takes its memory's high-water mark.
func (s *Site) peak(ctx context.Context, l *lab.Lab, section *report.Section) error {
	const endpoints = 10
	if err := s.Subscribe(ctx, endpoints); err != nil {
		return err
	}
	var rates []float64
	var statements float64
	n, had := l.N(5000), 0
	for range l.Rounds {
		if err := s.ResetStatements(ctx); err != nil {
			return err
		}
		began := time.Now()
		if err := s.Write(ctx, n); err != nil {
			return err
		}
		had += n
		if err := s.To.WaitAll(ctx, endpoints, had); err != nil {
			return err
		}
		rates = append(rates, float64(n*endpoints)/time.Since(began).Seconds())
		if err := s.Settled(ctx); err != nil {
			return err
		}
		calls, _, err := s.Statements(ctx)
		if err != nil {
			return err
		}
		statements = calls / float64(n*endpoints)
	}
	high, err := s.memory("VmHWM")
	if err != nil {
		return err
	}
	section.Add(report.Figure{Name: "resident memory, highest under the load below", Values: []float64{high}, Unit: "MB", Bar: report.AtMost(150)})
	section.Add(report.Figure{Name: fmt.Sprintf("the built binary: %s events, each to 10 endpoints", report.Number(float64(n))), Values: rates, Unit: "/s", Bar: report.AtLeast(6000),
		Note: "events are written by another process, which wakes the server by one NOTIFY"})
	section.Add(report.Figure{Name: "… statements per delivery", Values: []float64{statements}, Bar: report.AtMost(2)})
	return nil
}
