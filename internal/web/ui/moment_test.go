package ui_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

func TestRelative(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		away time.Duration
		want string
	}{
		{0, "just now"}, {-4 * time.Second, "just now"}, {-59 * time.Second, "59 s ago"}, {-time.Minute, "1 min ago"},
		{-90 * time.Minute, "1 h ago"}, {-47 * time.Hour, "47 h ago"}, {-49 * time.Hour, "2 days ago"},
		{2 * time.Hour, "in 2 h"}, {-31 * 24 * time.Hour, "11 Feb"}, {-400 * 24 * time.Hour, "7 Feb 2025"},
	} {
		if got := ui.Relative(noon.Add(c.away), noon); got != c.want {
			t.Errorf("%v away: got %q, want %q", c.away, got, c.want)
		}
	}
}

func TestTimeIsExactInTheOwnersZone(t *testing.T) {
	t.Parallel()
	html := render(t, ui.Time(noon.Add(-3*time.Minute)))
	wants(t, html, `datetime="2026-03-14T11:57:00Z"`, `title="Sun 15 Mar 2026, 00:57:00.000 NZDT"`, ">3 min ago<")
	if html := render(t, ui.Time(time.Time{})); strings.Contains(html, "<time") {
		t.Errorf("no time is shown as one: %s", html)
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0 ms", 0: "0 ms", 850 * time.Microsecond: "850 µs", 4 * time.Millisecond: "4 ms", 1250 * time.Millisecond: "1.25 s",
		12300 * time.Millisecond: "12.3 s", 200 * time.Second: "3 min 20 s", 2 * time.Hour: "2 h", 125 * time.Minute: "2 h 5 min", 99 * time.Hour: "4 days 3 h",
	} {
		if got := ui.Span(d); got != want {
			t.Errorf("%v: got %q, want %q", d, got, want)
		}
	}
}

func TestCountAndBytes(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 7: "7", 999: "999", 1000: "1 000", 1240318: "1 240 318", -5: "-5", -1240: "-1 240", -124000: "-124 000"} {
		if got := strings.ReplaceAll(ui.Count(n), "\u202f", " "); got != want {
			t.Errorf("Count(%d): got %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 4200: "4.2 kB", 412_000_000: "412 MB", 1_900_000_000: "1.9 GB", 9_000_000_000_000_000: "9000 TB"} {
		if got := ui.Bytes(n); got != want {
			t.Errorf("Bytes(%d): got %q, want %q", n, got, want)
		}
	}
}
