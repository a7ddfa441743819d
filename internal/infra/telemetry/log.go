// Package telemetry is how a process tells about itself: the log. Lines carry
// the request they belong to. Nothing a person wrote and no secret is logged.
package telemetry

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// NewLog writes one line of text per record to w. What repeats itself in an
// outage is written every 30 s at most, with the number left out.
func NewLog(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(newCalm(caused{slog.NewTextHandler(w, &slog.HandlerOptions{Level: level})}, time.Now))
}

// caused adds the request or job that the context belongs to.
type caused struct{ slog.Handler }

func (h caused) Handle(ctx context.Context, r slog.Record) error {
	c := pg.CauseFrom(ctx)
	if c.Request != "" {
		r.AddAttrs(slog.String("request", c.Request))
	}
	if c.Job != 0 {
		r.AddAttrs(slog.Int64("job", c.Job))
	}
	return h.Handler.Handle(ctx, r)
}

func (h caused) WithAttrs(attrs []slog.Attr) slog.Handler { return caused{h.Handler.WithAttrs(attrs)} }
func (h caused) WithGroup(name string) slog.Handler       { return caused{h.Handler.WithGroup(name)} }
