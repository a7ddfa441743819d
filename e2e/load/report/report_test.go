package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func TestNumber(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0: "0", 1: "1", 0.956: "0.96", 4.25: "4.25", 12.34: "12.3", 182.4: "182", 5900.4: "5,900", 1234567: "1,234,567", -1500: "-1,500"} {
		if got := Number(v); got != want {
			t.Errorf("%v is written %q, want %q", v, got, want)
		}
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		bar    Bar
		want   Verdict
	}{
		{[]float64{5}, Bar{}, NoBar},
		{[]float64{5}, AtLeast(5), Met},
		{[]float64{4, 9, 1}, AtLeast(5), NotMet}, // the median counts, not the best
		{[]float64{4, 9, 1}, AtMost(4), Met},
		{[]float64{6}, AtMost(5), NotMet},
	} {
		if got := (Figure{Values: c.values, Bar: c.bar}).Verdict(); got != c.want {
			t.Errorf("%v against %+v: %q, want %q", c.values, c.bar, got, c.want)
		}
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	var printed bytes.Buffer
	r := New(&printed, 1)
	s := r.Section("Deliveries")
	s.Add(Figure{Name: "to 10 endpoints", Values: []float64{5000, 6100, 5900}, Unit: "/s", Bar: AtLeast(6000), Ref: &Reference{"bare requests", 11_800, "/s"}})
	s.Latency("idle", []time.Duration{time.Millisecond, 2 * time.Millisecond}, 6, 30, "one endpoint")
	r.Plot(Plot{File: "a.svg", Title: "T", X: "endpoints", Y: "/s", Series: []Series{{"now", []Point{{1, 10}, {2, 20}}}, {"peer", []Point{{2, 5}}}}})
	text := r.Markdown()
	for _, want := range []string{
		"2 of 3 bars met", "| to 10 endpoints | 5,900/s | 5,000–6,100 of 3 | 0.50 × bare requests (11,800/s) | ≥ 6,000/s | **not met** |",
		"| idle, p50 | 2 ms |", "one endpoint; 2 samples", "![T](a.svg)", "| 1 | 10 | |\n| 2 | 20 | 5 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not hold %q:\n%s", want, text)
		}
	}
	if !strings.Contains(printed.String(), "5,900/s") {
		t.Errorf("figures are not printed as they come: %s", &printed)
	}
	r.Scale = 0.1
	if trial := r.Markdown(); strings.Contains(trial, "bars met") || strings.Contains(trial, "**not met**") {
		t.Errorf("a trial judges: %s", trial)
	}
}

func TestSVGIsXML(t *testing.T) {
	t.Parallel()
	for _, p := range []Plot{
		{},
		{Title: `a < "b"`, Series: []Series{{"one & two", []Point{{1, 1}}}}},
		{LogY: true, Series: []Series{{"a", []Point{{10, 2}, {2000, 300}}}, {"none", nil}}},
	} {
		d := xml.NewDecoder(strings.NewReader(p.SVG()))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%v in %s", err, p.SVG())
			}
		}
		if strings.Contains(p.SVG(), "NaN") {
			t.Errorf("a coordinate is no number: %s", p.SVG())
		}
	}
}
