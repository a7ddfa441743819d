package river

import (
	"encoding/json"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// meta is what the adapter keeps in a row's metadata beside the library's own
// keys. Everything is absent on a job that simply succeeds, so that the usual
// path writes nothing more than the library does.
type meta struct {
	Cause     pg.Cause        `json:"cause,omitzero"`
	Trigger   string          `json:"trigger,omitempty"` // of a periodic's turn
	Base      int             `json:"base,omitempty"`    // attempts of earlier cycles
	Cycles    int             `json:"cycles,omitempty"`  // earlier cycles
	CycleAt   time.Time       `json:"cycle_at,omitzero"` // when this cycle began; zero: at creation
	Snoozed   int             `json:"snoozed,omitempty"` // in this cycle
	Crashes   int             `json:"crashes,omitempty"` // in this cycle
	Uncertain bool            `json:"uncertain,omitempty"`
	Ledger    []entry         `json:"ledger,omitempty"`
	CancelAt  json.RawMessage `json:"cancel_attempted_at,omitempty"` // the library's
}

func readMeta(b []byte) meta {
	var m meta
	if len(b) > 2 {
		// Metadata that does not fit was written by hand; the job still runs.
		_ = json.Unmarshal(b, &m)
	}
	return m
}

// entry is one attempt; the keys are short because they repeat.
type entry struct {
	Number  int             `json:"n"`
	Cycle   int             `json:"c"`
	At      time.Time       `json:"at"`
	Took    int64           `json:"us"`
	Outcome string          `json:"o"`
	Error   string          `json:"e,omitempty"`
	Trace   string          `json:"t,omitempty"`
	Report  json.RawMessage `json:"r,omitempty"`
	Process string          `json:"p,omitempty"`
}

const (
	outCompleted   = "completed"
	outFailed      = "failed"
	outSnoozed     = "snoozed"
	outDiscarded   = "discarded"
	outHeld        = "held"
	outCrashed     = "crashed"
	outInterrupted = "interrupted"
	outCancelled   = "cancelled"
	outRunning     = "running"
)

// Bounds of the ledger: the newest attempts are kept, and only the newest few
// of them with their traces, so that a row stays small however often it runs.
const (
	maxEntries = 40
	maxTraces  = 3
	maxLedger  = 192 << 10 // bytes of reports and errors together
)

// with returns the ledger with e appended and its bounds kept. Consecutive
// snoozes are one entry: a busy receiver snoozes a job hundreds of times.
func (m meta) with(e entry) []entry {
	l := m.Ledger
	e.Number = 1
	if n := len(l); n > 0 {
		e.Number = l[n-1].Number + 1
		if e.Outcome == outSnoozed && l[n-1].Outcome == outSnoozed {
			l = l[:n-1]
		}
	}
	e.Cycle = m.Cycles + 1
	out := make([]entry, 0, len(l)+1)
	out = append(append(out, l...), e)
	if len(out) > maxEntries {
		out = out[len(out)-maxEntries:]
	}
	size, traces := 0, 0
	for i := len(out) - 1; i >= 0; i-- {
		if out[i].Trace != "" {
			if traces++; traces > maxTraces {
				out[i].Trace = ""
			}
		}
		size += len(out[i].Error) + len(out[i].Trace) + len(out[i].Report)
		if size > maxLedger {
			out[i].Trace, out[i].Report, out[i].Error = "", nil, clean(out[i].Error, 200)
		}
	}
	return out
}

func (e entry) attempt() jobs.Attempt {
	return jobs.Attempt{
		Number: e.Number, Cycle: e.Cycle, At: e.At, Duration: time.Duration(e.Took) * time.Microsecond,
		Outcome: e.Outcome, Error: e.Error, Trace: e.Trace, Report: e.Report, Process: e.Process,
	}
}

// cycleStart is when the age of the present cycle began to count.
func (m meta) cycleStart(created time.Time) time.Time {
	if m.CycleAt.IsZero() {
		return created
	}
	return m.CycleAt
}
