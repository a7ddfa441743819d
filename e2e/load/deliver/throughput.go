package deliver

import (
	"context"
	"fmt"
	"time"

	"github.com/gatehouse-hq/gatehouse/e2e/load/lab"
	"github.com/gatehouse-hq/gatehouse/e2e/load/report"
)

// burst is an amount of events written at once.
type burst struct {
	name      string
	events    int
	endpoints int
	shared    bool    // each event goes to every endpoint; else round-robin
	least     float64 // deliveries/s
	most      float64 // statements per delivery
}

func bursts() []burst {
	return []burst{
		{"each event to 10 endpoints", 5000, 10, true, 6000, 2},
		{"round-robin over 10 endpoints", 20_000, 10, false, 3500, 6},
		{"to one fast endpoint", 5000, 1, true, 2500, 0},
	}
}

// taken is what one round of a burst came to.
type taken struct {
	rate, statements, repeats float64
}

// Throughput measures bursts in turn, so that the machine's moods meet all alike.
func Throughput(ctx context.Context, l *lab.Lab, r *report.Report) error {
	section := r.Section("Events written → delivered")
	bare, err := bareRate(ctx, l)
	if err != nil {
		return err
	}
	all := make([][]taken, len(bursts()))
	for range l.Rounds {
		for i, b := range bursts() {
			one, err := b.measure(ctx, l)
			if err != nil {
				return fmt.Errorf("%s: %w", b.name, err)
			}
			all[i] = append(all[i], one)
		}
	}
	for i, b := range bursts() {
		name := fmt.Sprintf("%s events, %s", report.Number(float64(l.N(b.events))), b.name)
		section.Add(report.Figure{Name: name, Values: pick(all[i], func(t taken) float64 { return t.rate }), Unit: "/s", Bar: report.AtLeast(b.least), Ref: bare})
		section.Add(report.Figure{Name: "… statements per delivery", Values: pick(all[i], func(t taken) float64 { return t.statements }), Bar: report.AtMost(b.most)})
		section.Add(report.Figure{Name: "… requests sent twice", Values: pick(all[i], func(t taken) float64 { return t.repeats })})
	}
	return nil
}

func pick(all []taken, of func(taken) float64) (values []float64) {
	for _, t := range all {
		values = append(values, of(t))
	}
	return values
}

// bareRate is the receiver's own limit with as many connections as endpoints have.
func bareRate(ctx context.Context, l *lab.Lab) (*report.Reference, error) {
	to, err := lab.Listen("127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer to.Close()
	to.Plan("bare", 0)
	rate, _, err := lab.Bare(ctx, to.URL("bare"), 10, time.Duration(l.N(2000))*time.Millisecond)
	return &report.Reference{Name: "bare requests, 10 connections, no database", Value: rate, Unit: "/s"}, err
}

func (b burst) measure(ctx context.Context, l *lab.Lab) (out taken, err error) {
	err = with(ctx, l, func(ctx context.Context, s *site) error {
		out, err = s.burst(ctx, max(b.endpoints, l.N(b.events)), b.endpoints, b.shared)
		return err
	})
	return out, err
}

// burst writes n events and waits until every endpoint has had its own.
func (s *site) burst(ctx context.Context, n, endpoints int, shared bool) (out taken, err error) {
	if err := s.endpoints(ctx, endpoints, shared); err != nil {
		return out, err
	}
	kinds, each := endpoints, n/endpoints
	if shared {
		kinds, each = 1, n
	}
	if err := s.ResetStatements(ctx); err != nil {
		return out, err
	}
	started := time.Now()
	if err := s.write(ctx, each*kinds, 0, kinds); err != nil {
		return out, err
	}
	if err := s.to.WaitAll(ctx, endpoints, each); err != nil {
		return out, err
	}
	total := float64(each * endpoints)
	out.rate = total / time.Since(started).Seconds()
	if err := s.Settled(ctx); err != nil {
		return out, err
	}
	for i := range endpoints {
		c := s.to.Count(lab.Hook(i))
		out.repeats += float64(c.Requests - c.DistinctIDs)
	}
	calls, _, err := s.Statements(ctx)
	out.statements = calls / total
	return out, err
}

// Fan measures the throughput at different numbers of endpoints, each event
// going to all of them, with about the same number of deliveries each time.
func Fan(ctx context.Context, l *lab.Lab, r *report.Report) error {
	const deliveries = 20_000
	line := report.Series{Name: "Gatehouse"}
	for _, endpoints := range []int{1, 2, 5, 10, 20, 50, 100} {
		var rate float64
		err := with(ctx, l, func(ctx context.Context, s *site) error {
			out, err := s.burst(ctx, max(1, l.N(min(deliveries/endpoints, 5000))), endpoints, true)
			rate = out.rate
			return err
		})
		if err != nil {
			return fmt.Errorf("%d endpoints: %w", endpoints, err)
		}
		line.Points = append(line.Points, report.Point{X: float64(endpoints), Y: rate})
	}
	r.Plot(report.Plot{File: "throughput.svg", Title: "Throughput against the number of endpoints", X: "endpoints, each event goes to all", Y: "deliveries/s", Series: []report.Series{line}})
	return nil
}
