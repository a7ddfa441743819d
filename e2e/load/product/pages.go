package product

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/gatehouse-hq/gatehouse/e2e/load/report"
)

// Page is a page of the site.
type Page struct{ Name, Path string }

// Get fetches a page with one of the two below: times to the first and to the
// last byte, and the body.
type Get func(ctx context.Context, path string) (first, last time.Duration, body []byte, err error)

// AsOwner gets a page with the owner's session.
func (s *Site) AsOwner(ctx context.Context, path string) (first, last time.Duration, body []byte, err error) {
	return s.get(ctx, s.Owner.Do, path)
}

// AsVisitor gets a page as anybody.
func (s *Site) AsVisitor(ctx context.Context, path string) (first, last time.Duration, body []byte, err error) {
	return s.get(ctx, http.DefaultClient.Do, path)
}

func (s *Site) get(ctx context.Context, do func(*http.Request) (*http.Response, error), path string) (first, last time.Duration, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Server.URL+path, nil)
	if err != nil {
		return 0, 0, nil, err
	}
	began := time.Now()
	res, err := do(req)
	if err != nil {
		return 0, 0, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	first = time.Since(began)
	body, err = io.ReadAll(res.Body)
	if err == nil && (res.StatusCode != http.StatusOK || res.Request.URL.Path != req.URL.Path) {
		err = fmt.Errorf("%s: %s at %s", path, res.Status, res.Request.URL.Path)
	}
	return first, time.Since(began), body, err
}

// FirstByte is how long visitors look at nothing.
func FirstByte(get Get) func(ctx context.Context, path string) (time.Duration, error) {
	return func(ctx context.Context, path string) (time.Duration, error) {
		first, _, _, err := get(ctx, path)
		return first, err
	}
}

// Whole is how long a whole page takes.
func Whole(get Get) func(ctx context.Context, path string) (time.Duration, error) {
	return func(ctx context.Context, path string) (time.Duration, error) {
		_, last, _, err := get(ctx, path)
		return last, err
	}
}

// Slowest measures each page n times, one request after another, and adds the
// 95th percentiles to section; the slowest page's is held to the bar.
func Slowest(ctx context.Context, section *report.Section, pages []Page, n int, bar report.Bar, measure func(ctx context.Context, path string) (time.Duration, error)) error {
	slowest := report.Figure{Name: "the slowest page", Unit: "ms", Bar: bar, Values: []float64{0}}
	var all []report.Figure
	for _, p := range pages {
		var took []time.Duration
		for range max(2, n) {
			t, err := measure(ctx, p.Path)
			if err != nil {
				return err
			}
			took = append(took, t)
		}
		f := report.Figure{Name: p.Name, Values: []float64{report.Milliseconds(report.Quantile(took, 0.95))}, Unit: "ms"}
		all = append(all, f)
		if f.Median() > slowest.Median() {
			slowest.Values, slowest.Note = f.Values, p.Name
		}
	}
	for _, f := range append([]report.Figure{slowest}, all...) {
		section.Add(f)
	}
	return nil
}
