package op_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// The person reads the message, the log also the cause.
func TestCauseIsForTheLogAlone(t *testing.T) {
	t.Parallel()
	err := op.Wrap(errors.New("dial tcp: refused"), op.Unavailable, "Search does not answer.")
	if strings.Contains(err.Error(), "refused") {
		t.Errorf("the cause is shown: %v", err)
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Error("request failed", "error", err)
	if !strings.Contains(log.String(), "dial tcp: refused") || !strings.Contains(log.String(), "Search does not answer.") {
		t.Errorf("the log says %s", log.String())
	}
}

func TestCodesAndFields(t *testing.T) {
	t.Parallel()
	err := op.Invalidf("title", "must be shorter")
	var field interface{ Field() string }
	if op.CodeOf(err) != op.Invalid || !errors.As(err, &field) || field.Field() != "title" {
		t.Errorf("%v", err)
	}
	if op.CodeOf(errors.New("x")) != "" {
		t.Error("a plain error has a code")
	}
}
