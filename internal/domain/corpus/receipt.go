package corpus

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// IndexKind is the subscription, and so the kind of job, that keeps the search
// index as the notes are.
const IndexKind = "corpus.index"

const (
	// receiptWait is the longest a write waits to be found by search.
	receiptWait = 2 * time.Second
	// maxWaiters wait at once in a process; the next one gets its receipt at
	// once, so that a slow index cannot hold all requests.
	maxWaiters = 64
)

// Receipt says what is certain about a write: it is committed, and Indexed if
// search finds it already. If not, the task IndexJobID (0 while it is not even
// fanned out) will bring it there.
type Receipt struct {
	NoteID     string  `json:"note_id"`
	Version    int64   `json:"version"`
	Address    string  `json:"address"`
	Changed    bool    `json:"changed" jsonschema:"false: the note already was as asked, and nothing was written"`
	Indexed    bool    `json:"indexed" jsonschema:"true: search finds this state of the note already"`
	IndexJobID jobs.ID `json:"index_job_id" jsonschema:"the task that brings it into search; 0 while that is not known or nothing had to change"`
}

// Fanout tells which jobs the events of a transaction became; *events.Bus is one.
type Fanout interface {
	EventsOfTx(ctx context.Context, q pg.Querier, txid uint64) ([]events.Event, error)
	AwaitFanout(ctx context.Context, eventIDs []string, max time.Duration) bool
	JobFor(ctx context.Context, eventID, subscription string) (jobs.ID, bool, error)
}

// JobWaiter waits for the end of a job.
type JobWaiter interface {
	Wait(ctx context.Context, id jobs.ID, max time.Duration) (jobs.State, bool)
}

// receipt waits for the index jobs of n's own write. It never fails: the write
// is committed whatever happens here.
func (d *Domain) receipt(ctx context.Context, n Note, txid uint64) Receipt {
	r := Receipt{NoteID: n.ID, Version: n.Version, Address: n.Address(), Changed: true}
	if d.queue.Fanout == nil || d.queue.Wait == nil {
		return r
	}
	select {
	case d.waiters <- struct{}{}:
		defer func() { <-d.waiters }()
	default:
		return r
	}
	end := time.Now().Add(receiptWait)
	born, err := d.queue.Fanout.EventsOfTx(ctx, d.db, txid)
	if err != nil {
		return r
	}
	ids := about(n.ID, born)
	if r.Changed = len(ids) > 0; !r.Changed || !d.queue.Fanout.AwaitFanout(ctx, ids, receiptWait) {
		return r
	}
	for _, event := range ids {
		job, found, err := d.queue.Fanout.JobFor(ctx, event, IndexKind)
		if err != nil || !found {
			return r
		}
		r.IndexJobID = job
		state, final := d.queue.Wait.Wait(ctx, job, time.Until(end))
		if !final || state != jobs.Completed {
			return r
		}
	}
	r.Indexed = true
	return r
}

// about are the ids of the events that tell of this note: a rename also writes
// one for each descendant, whose indexing nobody waits for.
func about(noteID string, born []events.Event) []string {
	var ids []string
	for _, e := range born {
		var data struct {
			NoteID string `json:"note_id"`
		}
		if e.Type == NoteChanged && json.Unmarshal(e.Data, &data) == nil && data.NoteID == noteID {
			ids = append(ids, e.ID)
		}
	}
	return ids
}
