package jobs

import (
	"errors"
	"fmt"
	"time"
)

// SnoozeError is what Snooze returns.
type SnoozeError struct{ For time.Duration }

func (e *SnoozeError) Error() string { return fmt.Sprintf("snoozed for %s", e.For) }

// Snooze: not now, and nobody's fault. The job comes back after d and no
// attempt is spent. Snoozes are counted; a cycle older than the kind's MaxAge
// is discarded instead.
func Snooze(d time.Duration) error { return &SnoozeError{For: max(d, 0)} }

// DiscardError is what Discard and Hold return.
type DiscardError struct {
	Err       error
	Uncertain bool
}

func (e *DiscardError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *DiscardError) Unwrap() error { return e.Err }

// Discard: trying again cannot help. The job ends discarded with err shown; a
// person can still retry it.
func Discard(err error) error { return &DiscardError{Err: orUnknown(err)} }

// Hold: the outside may already have done it and doing it again would hurt.
// The job ends discarded and flagged uncertain.
func Hold(err error) error { return &DiscardError{Err: orUnknown(err), Uncertain: true} }

func orUnknown(err error) error {
	if err == nil {
		return errors.New("no reason given")
	}
	return err
}
