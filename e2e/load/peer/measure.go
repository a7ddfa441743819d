package peer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"text/template"
	"time"

	"github.com/gatehouse-hq/gatehouse/e2e/load/lab"
	"github.com/gatehouse-hq/gatehouse/e2e/load/report"
)

// Peer measures the sender that the environment names, if it names one.
func Peer(ctx context.Context, l *lab.Lab, r *report.Report) error {
	c, wanted, err := FromEnv(os.Getenv)
	if !wanted {
		return nil
	}
	if err != nil {
		return err
	}
	c.Events = l.N(c.Events)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	return c.Measure(ctx, r, time.Duration(l.N(10_000))*time.Millisecond)
}

// run is one peer being measured.
type run struct {
	Config
	to     *lab.Receiver
	client *http.Client
	had    int // events published so far
}

// Measure publishes a burst and then single events for that long, and adds a section to r.
func (c Config) Measure(ctx context.Context, r *report.Report, idle time.Duration) error {
	to, err := lab.Listen(c.Receiver)
	if err != nil {
		return err
	}
	defer to.Close()
	transport := &http.Transport{MaxIdleConnsPerHost: c.Publishers}
	defer transport.CloseIdleConnections()
	p := &run{Config: c, to: to, client: &http.Client{Transport: transport, Timeout: c.Patience}}
	if err := p.register(ctx); err != nil {
		return err
	}
	if err := p.burst(ctx, 1); err != nil {
		return fmt.Errorf("a first event: %w", err)
	}
	section := r.Section(c.Name + ", against the same receiver")
	began := time.Now()
	published, err := p.publishAll(ctx, c.Events)
	if err != nil {
		return err
	}
	if err := p.arrived(ctx); err != nil {
		return err
	}
	rate := float64(c.Events*c.Endpoints) / time.Since(began).Seconds()
	section.Add(report.Figure{Name: fmt.Sprintf("%s: %s events, each to %d endpoints", c.Name, report.Number(float64(c.Events)), c.Endpoints), Values: []float64{rate}, Unit: "/s",
		Ref: r.Find("Gatehouse, the built binary", "the built binary:")})
	section.Add(report.Figure{Name: "… of which published", Values: []float64{float64(c.Events) / published.Seconds()}, Unit: "/s"})
	took, err := p.single(ctx, idle)
	if err != nil {
		return err
	}
	section.Latency("published → received, 60 events/s at most", took, 0, 0, "from before the request that publishes, one after another")
	section.Note = fmt.Sprintf("%s takes its events over HTTP, from %d publishers at once; Gatehouse's are rows that its own transactions write. Deliveries are counted from the first request to the last arrival", c.Name, c.Publishers)
	r.Extend("throughput.svg", report.Series{Name: c.Name, Points: []report.Point{{X: float64(c.Endpoints), Y: rate}}})
	return nil
}

// register makes the endpoints, or says where they are expected.
func (p *run) register(ctx context.Context) error {
	for i := range p.Endpoints {
		p.to.Plan(lab.Hook(i), 0)
		if p.Endpoint == "" {
			continue
		}
		e := newEvent(i)
		e.URL = p.to.URL(lab.Hook(i))
		if err := p.send(ctx, http.MethodPost, p.Endpoint, p.Register, e); err != nil {
			return fmt.Errorf("register endpoint %d: %w", i, err)
		}
	}
	if p.Endpoint == "" {
		fmt.Fprintf(os.Stderr, "%s is expected to deliver each event to %s … %s\n", p.Name, p.to.URL(lab.Hook(0)), p.to.URL(lab.Hook(p.Endpoints-1)))
	}
	return nil
}

func (p *run) send(ctx context.Context, method, url string, body *template.Template, e event) error {
	text, err := fill(body, e)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(text))
	if err != nil {
		return errors.New("the peer's address cannot be used")
	}
	req.Header = p.Header.Clone()
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	res, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %.300s", res.Status, answer)
	}
	return err
}

// burst publishes n events and waits until they have arrived.
func (p *run) burst(ctx context.Context, n int) error {
	if _, err := p.publishAll(ctx, n); err != nil {
		return err
	}
	return p.arrived(ctx)
}

// publishAll publishes n events from all publishers at once.
func (p *run) publishAll(ctx context.Context, n int) (took time.Duration, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for range min(p.Publishers, n) {
		all.Go(func() {
			for i := int(next.Add(1)); i <= n && ctx.Err() == nil; i = int(next.Add(1)) {
				if err := p.send(ctx, p.Method, p.URL, p.Body, newEvent(p.had+i)); err != nil {
					cancel(fmt.Errorf("publish: %w", err)) // the first one counts
				}
			}
		})
	}
	all.Wait()
	p.had += n
	return time.Since(began), context.Cause(ctx)
}

// arrived waits until every endpoint has had every event so far. It gives up
// once nothing has come for as long as patience lasts.
func (p *run) arrived(ctx context.Context) error {
	for i := range p.Endpoints {
		hook := lab.Hook(i)
		for before := -1; ; {
			wait, cancel := context.WithTimeout(ctx, p.Patience)
			err := p.to.Wait(wait, hook, p.had)
			cancel()
			count := p.to.Count(hook).Requests
			if err == nil {
				break
			}
			if count == before || ctx.Err() != nil {
				return fmt.Errorf("endpoint %d has had %d of %d events, and nothing came within %s", i, count, p.had, p.Patience)
			}
			before = count
		}
	}
	return nil
}

// single publishes one event after the other, 60 a second at most.
func (p *run) single(ctx context.Context, length time.Duration) (took []time.Duration, err error) {
	for end := time.Now().Add(length); len(took) == 0 || time.Now().Before(end); {
		next := time.Now().Add(time.Second / 60)
		began := time.Now()
		p.had++
		if err := p.send(ctx, p.Method, p.URL, p.Body, newEvent(p.had)); err != nil {
			return took, fmt.Errorf("publish: %w", err)
		}
		wait, cancel := context.WithTimeout(ctx, p.Patience)
		err := p.to.Wait(wait, lab.Hook(0), p.had)
		cancel()
		if err != nil {
			return took, fmt.Errorf("event %d: nothing came within %s", p.had, p.Patience)
		}
		took = append(took, time.Since(began))
		time.Sleep(time.Until(next))
	}
	return took, nil
}
