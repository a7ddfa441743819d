package telemetry

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestAnOutageIsAFewLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	log := slog.New(newCalm(caused{slog.NewTextHandler(&out, nil)}, func() time.Time { return now }))
	lines := func() string {
		defer out.Reset()
		return out.String()
	}
	for n := range 50 {
		log.Warn("listen connection lost", "error", fmt.Errorf("dial 127.0.0.1:%d: connection refused", 40000+n), "retry_in", n)
		log.With("part", "queue").Warn("listen connection lost", "error", errors.New("dial 127.0.0.1:1: connection refused"))
		log.Error("request failed", "status", 503, "request_id", n, "error", errors.New("connection refused"))
	}
	if got := lines(); strings.Count(got, "\n") != 2 {
		t.Errorf("150 lines of two causes became\n%s", got)
	}
	log.Warn("listen connection lost", "error", errors.New("the database system is starting up"))
	if got := lines(); strings.Count(got, "\n") != 1 {
		t.Errorf("another cause is news, but said %q", got)
	}
	now = now.Add(calmFor)
	log.Warn("listen connection lost", "error", errors.New("dial 127.0.0.1:7: connection refused"))
	if got := lines(); !strings.Contains(got, "left_out=99") {
		t.Errorf("after %s: %q", calmFor, got)
	}
	for range 3 {
		log.Info("stopping", "error", "none")
		log.Error("a task ignores its time limit", "job", 7)
		log.Error("request failed", "status", 500, "error", errors.New("same"))
	}
	if got := lines(); strings.Count(got, "\n") != 9 {
		t.Errorf("what must always be written: %s", got)
	}
}

func TestCalmForgets(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s := &said{now: func() time.Time { return now }, lines: map[string]*line{}}
	for n := range 3 * calmKinds {
		if write, _ := s.due(fmt.Sprint(n)); !write {
			t.Fatal("a new line was held back")
		}
	}
	if len(s.lines) > calmKinds {
		t.Errorf("%d kinds are remembered", len(s.lines))
	}
	now = now.Add(calmFor)
	s.due("new")
	if len(s.lines) != 1 {
		t.Errorf("%d kinds are remembered after their time", len(s.lines))
	}
}
