package deliver

import (
	"context"
	"time"

	"github.com/gatehouse-hq/gatehouse/e2e/load/lab"
	"github.com/gatehouse-hq/gatehouse/e2e/load/report"
	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
)

// Hanging compares the throughput of a hundred endpoints without and with one
// more that never answers, in turn, so that the growing tables meet both.
func Hanging(ctx context.Context, l *lab.Lab, r *report.Report) error {
	const healthy = 100
	each := max(1, l.N(100))
	section := r.Section("One hanging endpoint among 100")
	return with(ctx, l, func(ctx context.Context, s *site) error {
		if err := s.endpoints(ctx, healthy, false); err != nil {
			return err
		}
		had := 0
		round := func(kinds int) (float64, error) {
			had += each
			started := time.Now()
			if err := s.write(ctx, kinds*each, 0, kinds); err != nil {
				return 0, err
			}
			err := s.to.WaitAll(ctx, healthy, had)
			return float64(healthy*each) / time.Since(started).Seconds(), err
		}
		if _, err := round(healthy); err != nil { // opens the connections
			return err
		}
		alone := func() (float64, error) { return round(healthy) }
		accompanied := func() (float64, error) { return s.beside(ctx, healthy, round) }
		var without, with []float64
		for i := range 2*l.Rounds - 1 { // a round is short: more of them for a steady median
			var first, second float64
			var err error
			if i%2 == 0 { // each goes first as often
				first, second, err = both(alone, accompanied)
			} else {
				second, first, err = both(accompanied, alone)
			}
			if err != nil {
				return err
			}
			without, with = append(without, first), append(with, second)
		}
		section.Add(report.Figure{Name: "100 healthy endpoints alone", Values: without, Unit: "/s"})
		section.Add(report.Figure{Name: "the same beside a hanging one", Values: with, Unit: "/s"})
		section.Add(report.Figure{Name: "of the throughput without it", Values: ratios(with, without), Unit: "%", Bar: report.AtLeast(95),
			Note: "the hanging one gets as many events as each of the others and answers after 12 s, past the sender's deadline of 10 s; ratios are of neighbouring rounds"})
		return nil
	})
}

func both(a, b func() (float64, error)) (fromA, fromB float64, err error) {
	if fromA, err = a(); err == nil {
		fromB, err = b()
	}
	return fromA, fromB, err
}

// beside runs a round with a hanging endpoint, which is deleted afterwards with
// whatever waits for it.
func (s *site) beside(ctx context.Context, healthy int, round func(kinds int) (float64, error)) (float64, error) {
	id, err := s.endpoint(ctx, healthy, healthy, 12*time.Second)
	if err != nil {
		return 0, err
	}
	rate, err := round(healthy + 1)
	if err != nil {
		return 0, err
	}
	_, err = s.domain.Delete(ctx, webhooks.Ref{ID: id})
	return rate, err
}

// ratios are the per cent of each round's own reference.
func ratios(of, to []float64) (out []float64) {
	for i := range of {
		out = append(out, 100*of[i]/to[i])
	}
	return out
}
