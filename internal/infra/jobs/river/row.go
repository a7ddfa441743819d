package river

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// rawStates says which of the library's states, with which attempts, make one
// of ours. A failure that is due within seconds goes back to available at
// once; its attempt tells it from a job that was never tried.
func stateFrom(raw string, attempt int) jobs.State {
	switch raw {
	case "running":
		return jobs.Running
	case "completed":
		return jobs.Completed
	case "discarded":
		return jobs.Discarded
	case "cancelled":
		return jobs.Cancelled
	case "retryable":
		return jobs.Retryable
	case "available":
		if attempt > 0 {
			return jobs.Retryable
		}
	}
	return jobs.Pending
}

// band is one of the library's states with a range of attempts.
type band struct {
	raw      string
	min, max int
}

func bands(states []jobs.State) []band {
	var out []band
	for _, s := range states {
		switch s {
		case jobs.Pending:
			out = append(out, band{"available", 0, 0}, band{"scheduled", 0, neverEnough}, band{"pending", 0, neverEnough})
		case jobs.Retryable:
			out = append(out, band{"retryable", 0, neverEnough}, band{"available", 1, neverEnough})
		default:
			out = append(out, band{string(s), 0, neverEnough})
		}
	}
	return out
}

// columns of a row, in the order scanJob reads them. The ledger is large and
// only Get shows it.
const columns = `id, kind, queue, state::text, args, attempt, metadata - 'ledger', created_at, scheduled_at, attempted_at, finalized_at,
  coalesce(attempted_by[array_upper(attempted_by, 1)], ''), coalesce(errors[array_upper(errors, 1)] ->> 'error', '')`

// scanned is a row with what only Get needs.
type scanned struct {
	job       jobs.Job
	meta      meta
	process   string
	lastError string
}

func (rt *Runtime) scanJob(row pgx.CollectableRow) (scanned, error) {
	var s scanned
	var raw string
	var metadata []byte
	err := row.Scan(&s.job.ID, &s.job.Kind, &s.job.Queue, &raw, &s.job.Args, &s.job.Attempt, &metadata, &s.job.CreatedAt,
		&s.job.ScheduledAt, &s.job.StartedAt, &s.job.FinishedAt, &s.process, &s.lastError)
	if err != nil {
		return s, err
	}
	s.meta = readMeta(metadata)
	rt.fill(&s, raw)
	return s, nil
}

func (rt *Runtime) fill(s *scanned, raw string) {
	j, m := &s.job, s.meta
	j.State = stateFrom(raw, j.Attempt)
	j.Total = m.Base + j.Attempt
	j.Cycle = m.Cycles + 1
	j.Snoozes = m.Snoozed
	j.Uncertain = m.Uncertain
	j.CancelAsked = m.CancelAt != nil && j.State == jobs.Running
	j.Cause = m.Cause
	j.LastError = firstLine(s.lastError)
	if j.State != jobs.Running && j.Attempt == 0 && m.Base == 0 && m.Snoozed == 0 && m.Crashes == 0 {
		j.StartedAt = nil
	}
	if k, ok := rt.kinds[j.Kind]; ok {
		j.MaxAttempts = k.Policy.Attempts
		j.Subject = subject(k, j.Args)
	}
}

// subject asks the kind what its args are about; a mistake there must not take
// a whole list down.
func subject(k jobs.Kind, a json.RawMessage) (s string) {
	if k.Subject == nil {
		return ""
	}
	defer func() {
		if recover() != nil {
			s = ""
		}
	}()
	return clean(k.Subject(a), 300)
}

// Get reads one job with all its attempts. An id that was issued and has no
// row any more is a pruned job.
func (rt *Runtime) Get(ctx context.Context, id jobs.ID) (jobs.Job, error) {
	var ledger []byte
	rows, err := rt.db.Query(ctx, `select `+columns+`, metadata -> 'ledger' from river.river_job where id = $1`, id)
	if err != nil {
		return jobs.Job{}, fmt.Errorf("read task %d: %w", id, err)
	}
	s, err := pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (scanned, error) {
		return rt.scanJob(withLast{row, &ledger})
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return rt.pruned(ctx, id)
	}
	if err != nil {
		return jobs.Job{}, fmt.Errorf("read task %d: %w", id, err)
	}
	if ledger != nil {
		// Written by us; what does not read is shown as no history.
		_ = json.Unmarshal(ledger, &s.meta.Ledger)
	}
	s.job.Attempts = s.attempts()
	return s.job, nil
}

// withLast scans one column more than its reader asks for.
type withLast struct {
	pgx.CollectableRow
	last any
}

func (w withLast) Scan(dest ...any) error { return w.CollectableRow.Scan(append(dest, w.last)...) }

func (rt *Runtime) pruned(ctx context.Context, id jobs.ID) (jobs.Job, error) {
	issued, err := rt.issued(ctx, id)
	if err != nil {
		return jobs.Job{}, fmt.Errorf("read task %d: %w", id, err)
	}
	if !issued {
		return jobs.Job{}, jobs.ErrNotFound
	}
	return jobs.Job{ID: id, State: jobs.Completed, Pruned: true}, nil
}

// issued reports whether id was ever given out.
func (rt *Runtime) issued(ctx context.Context, id jobs.ID) (bool, error) {
	if id < 1 {
		return false, nil
	}
	var issued bool
	err := rt.db.QueryRow(ctx, `select is_called and last_value >= $1 from river.river_job_id_seq`, id).Scan(&issued)
	if pg.NoRows(err) {
		return false, nil
	}
	return issued, err
}

// attempts is the ledger, with the attempt the row itself tells: the running
// one, or a success that was not worth an entry.
func (s *scanned) attempts() []jobs.Attempt {
	out := make([]jobs.Attempt, 0, len(s.meta.Ledger)+1)
	for _, e := range s.meta.Ledger {
		out = append(out, e.attempt())
	}
	last := 0
	if n := len(out); n > 0 {
		last = out[n-1].Number
	}
	own := jobs.Attempt{Number: last + 1, Cycle: s.job.Cycle, Process: s.process}
	if s.job.StartedAt != nil {
		own.At = *s.job.StartedAt
	}
	switch {
	case s.job.State == jobs.Running:
		own.Outcome = outRunning
		own.Duration = max(time.Since(own.At), 0)
		return append(out, own)
	case s.job.State == jobs.Completed && (last == 0 || out[len(out)-1].Outcome != outCompleted):
		own.Outcome = outCompleted
		if s.job.FinishedAt != nil {
			own.Duration = max(s.job.FinishedAt.Sub(own.At), 0)
		}
		return append(out, own)
	}
	return out
}
