package river

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	riverqueue "github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// worker runs the handler of one kind and turns what it returns into what the
// library understands.
type worker struct {
	riverqueue.WorkerDefaults[args]
	rt   *Runtime
	kind jobs.Kind
}

func (w *worker) Timeout(*riverqueue.Job[args]) time.Duration { return w.kind.Policy.Timeout }

// NextRetry is the kind's backoff with ±10 % jitter.
func (w *worker) NextRetry(job *riverqueue.Job[args]) time.Time {
	return time.Now().Add(jitter(backoff(w.kind.Policy, job.Attempt)))
}

func backoff(p jobs.Policy, attempt int) time.Duration {
	if p.Backoff == nil {
		return jobs.DefaultBackoff(attempt)
	}
	return p.Backoff(attempt)
}

// jitter spreads d by ±10 %. Never 0: a time in the past makes the library use
// a schedule of its own.
func jitter(d time.Duration) time.Duration {
	return max(time.Duration(float64(d)*(0.9+0.2*rand.Float64())), time.Millisecond)
}

// failure is the only error handed to the library: plain text, so that nothing
// a handler wrapped is mistaken for one of the library's own signals.
type failure struct{ text string }

func (f failure) Error() string { return f.text }

// panicked is a handler's panic as an error.
type panicked struct {
	value any
	stack string
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// run is one attempt in the making.
type run struct {
	w       *worker
	job     *riverqueue.Job[args]
	meta    meta
	started time.Time

	mu     sync.Mutex
	report json.RawMessage
}

func (w *worker) Work(ctx context.Context, job *riverqueue.Job[args]) error {
	w.rt.roster.begin(job.ID)
	defer w.rt.roster.end(job.ID)
	r := &run{w: w, job: job, meta: readMeta(job.Metadata), started: time.Now()}
	err := r.handle(ctx)
	return r.settle(ctx, err)
}

// handle calls the handler and catches its panic: the library's own recovery
// would store the text as it is.
func (r *run) handle(ctx context.Context) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{value: v, stack: string(debug.Stack())}
		}
	}()
	cause := r.meta.Cause
	cause.Job = r.job.ID
	ctx = pg.WithCause(ctx, cause)
	ctx = jobs.WithRun(ctx, jobs.Run{
		ID: jobs.ID(r.job.ID), Kind: r.w.kind.Name, Attempt: r.job.Attempt, Total: r.meta.Base + r.job.Attempt,
	}, r.setReport)
	return r.w.kind.Handler(ctx, r.job.Args.raw)
}

func (r *run) setReport(b json.RawMessage) {
	b = cleanReport(b)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report = b
}

// cleanReport makes a report storable as jsonb. One that is too long is
// replaced by its size and beginning.
func cleanReport(b json.RawMessage) json.RawMessage {
	if bytes.Contains(b, []byte(`\u0000`)) {
		// An escaped backslash before it makes the replacement wrong but never
		// unstorable: \\u0000 becomes \\ufffd, plain text both.
		b = bytes.ReplaceAll(b, []byte(`\u0000`), []byte(`\ufffd`))
	}
	if len(b) <= maxReport {
		return b
	}
	short, err := json.Marshal(map[string]any{"truncated_bytes": len(b), "begins": clean(string(b), 1<<10)})
	if err != nil { // an int and a clean string always marshal
		return nil
	}
	return short
}

// settle records the attempt and classifies it.
func (r *run) settle(ctx context.Context, err error) error {
	var snooze *jobs.SnoozeError
	var discard *jobs.DiscardError
	switch {
	case err == nil:
		return r.complete(ctx)
	case errors.Is(context.Cause(ctx), rivertype.ErrJobCancelledRemotely):
		if errors.As(err, &discard) && discard.Uncertain {
			r.set(ctx, "uncertain", true) // cancelled, and yet it may have happened
		}
		r.tellCancelled(ctx)
		return r.fail(ctx, outCancelled, err)
	case errors.As(err, &snooze):
		return r.snooze(ctx, snooze.For)
	case errors.As(err, &discard):
		return r.discard(ctx, discard)
	case ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return r.interrupt(ctx, err)
	case r.job.Attempt >= r.w.kind.Policy.Attempts:
		r.job.MaxAttempts = r.job.Attempt
		return r.fail(ctx, outFailed, err)
	}
	return r.fail(ctx, outFailed, err)
}

// tellCancelled tells the kind's owner. The job ends cancelled whether that
// succeeds or not, so a failure is only logged.
func (r *run) tellCancelled(ctx context.Context) {
	tell := r.w.kind.Cancelled
	if tell == nil {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), tellTime)
	defer stop()
	err := pg.InTx(ctx, r.w.rt.db, func(tx pg.Tx) error { return tell(ctx, tx, r.job.Args.raw) })
	if err != nil {
		r.w.rt.log.Error("cannot tell that a task was cancelled", "job", r.job.ID, "kind", r.w.kind.Name, "error", err)
	}
}

// interrupt: the process is stopping, which is nobody's fault. A snooze of
// nothing gives the attempt back, also when the stop was a hard one.
func (r *run) interrupt(ctx context.Context, err error) error {
	r.record(ctx, r.entry(outInterrupted, err))
	return riverqueue.JobSnooze(0)
}

func (r *run) snooze(ctx context.Context, d time.Duration) error {
	limit := r.w.kind.Policy.MaxAge
	if limit == 0 {
		limit = defaultMaxAge
	}
	if age := time.Since(r.meta.cycleStart(r.job.CreatedAt)); age > limit {
		return r.discard(ctx, &jobs.DiscardError{Err: fmt.Errorf("given up after %s: put off %d times, and a task of this kind may take %s at most", age.Round(time.Second), r.meta.Snoozed, limit)})
	}
	r.set(ctx, "snoozed", r.meta.Snoozed+1)
	r.record(ctx, r.entry(outSnoozed, nil))
	return riverqueue.JobSnooze(d)
}

// discard ends the job at once. The library discards what has no attempts
// left, and reads that from the row in its hands (measured; pinned by the
// conformance suite).
func (r *run) discard(ctx context.Context, d *jobs.DiscardError) error {
	r.job.MaxAttempts = r.job.Attempt
	outcome := outDiscarded
	if d.Uncertain {
		outcome = outHeld
		r.set(ctx, "uncertain", true)
	}
	return r.fail(ctx, outcome, d.Err)
}

func (r *run) fail(ctx context.Context, outcome string, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("stopped at its limit of %s: %w", r.w.kind.Policy.Timeout, err)
	}
	e := r.entry(outcome, err)
	r.record(ctx, e)
	return failure{e.Error}
}

func (r *run) entry(outcome string, err error) entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := entry{
		At: r.started.UTC(), Took: time.Since(r.started).Microseconds(), Outcome: outcome,
		Report: r.report, Process: r.w.rt.cfg.ProcessID,
	}
	if err != nil {
		e.Error = clean(err.Error(), maxError)
		if strings.TrimSpace(e.Error) == "" {
			e.Error = "failed without saying why"
		}
		var p *panicked
		if errors.As(err, &p) {
			e.Trace = clean(p.stack, maxTrace)
		}
	}
	return e
}

// record adds e to the ledger; the library writes it together with the state.
func (r *run) record(ctx context.Context, e entry) { r.set(ctx, "ledger", r.meta.with(e)) }

func (r *run) set(ctx context.Context, key string, v any) {
	if err := riverqueue.MetadataSet(ctx, key, v); err != nil { // only outside of a worker
		r.w.rt.log.Error("cannot keep what an attempt did", "job", r.job.ID, "key", key, "error", err)
	}
}
