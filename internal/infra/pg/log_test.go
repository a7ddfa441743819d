package pg_test

import (
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"
)

// countingLog counts lines of the log.
type countingLog struct {
	io.Writer
	lines atomic.Int64
}

func (c *countingLog) Write(p []byte) (int, error) {
	c.lines.Add(1)
	return c.Writer.Write(p)
}

func (c *countingLog) logger() *slog.Logger { return slog.New(slog.NewTextHandler(c, nil)) }

func (c *countingLog) count() int64 { return c.lines.Load() }

// await waits for the n-th line.
func (c *countingLog) await(t *testing.T, n int64) {
	t.Helper()
	guard := time.After(3 * time.Minute)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for c.count() < n {
		select {
		case <-tick.C:
		case <-guard:
			t.Fatalf("%d of %d lines", c.count(), n)
		}
	}
}
