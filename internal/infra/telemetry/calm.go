package telemetry

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

const (
	// calmFor is the least time between two lines that say the same.
	calmFor = 30 * time.Second
	// calmKinds bounds what is remembered; beyond it the log is as it comes.
	calmKinds = 500
)

// calm keeps an outage readable: a warning or error with the same message and
// the same cause is written once per calmFor, and the next one says how many
// were left out. Causes differ when they differ in more than numbers. An answer
// with a status other than 503 is always written: its page shows a request id
// that has to be found here.
type calm struct {
	slog.Handler
	said *said
}

type said struct {
	now func() time.Time

	mu    sync.Mutex
	lines map[string]*line
}

type line struct {
	at   time.Time
	kept int // left out since
}

func newCalm(h slog.Handler, now func() time.Time) calm {
	return calm{h, &said{now: now, lines: map[string]*line{}}}
}

func (h calm) Handle(ctx context.Context, r slog.Record) error {
	cause, repeats := causeOf(r)
	if !repeats {
		return h.Handler.Handle(ctx, r)
	}
	write, kept := h.said.due(r.Level.String() + "\x00" + r.Message + "\x00" + cause)
	if !write {
		return nil
	}
	if kept > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("left_out", kept))
	}
	return h.Handler.Handle(ctx, r)
}

// causeOf is the error that a record tells, without its numbers: ports,
// processes and times change with each try.
func causeOf(r slog.Record) (cause string, repeats bool) {
	if r.Level < slog.LevelWarn {
		return "", false
	}
	other := false
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "error", "err":
			cause, repeats = withoutDigits(a.Value.String()), true
		case "status":
			other = a.Value.Kind() == slog.KindInt64 && a.Value.Int64() != 503
		}
		return true
	})
	return cause, repeats && !other
}

func withoutDigits(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' {
			return -1
		}
		return c
	}, s)
}

// due reports whether a line is to be written now, and how many of its like
// were left out since the last.
func (s *said) due(key string) (write bool, kept int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if l := s.lines[key]; l != nil {
		if now.Sub(l.at) < calmFor {
			l.kept++
			return false, 0
		}
		kept = l.kept
		l.at, l.kept = now, 0
		return true, kept
	}
	if len(s.lines) >= calmKinds {
		for k, l := range s.lines {
			if now.Sub(l.at) >= calmFor {
				delete(s.lines, k)
			}
		}
	}
	if len(s.lines) < calmKinds {
		s.lines[key] = &line{at: now}
	}
	return true, 0
}

func (h calm) WithAttrs(attrs []slog.Attr) slog.Handler {
	return calm{h.Handler.WithAttrs(attrs), h.said}
}
func (h calm) WithGroup(name string) slog.Handler { return calm{h.Handler.WithGroup(name), h.said} }
