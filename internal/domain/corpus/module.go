package corpus

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
)

// The kinds of jobs of this domain, besides IndexKind.
const (
	ReindexKind = "corpus.reindex"
	ImportKind  = "corpus.import"
)

// Handlers does this domain's work in the background; see package subscriber.
type Handlers interface {
	Index(ctx context.Context, e events.Event) error
	Reindex(ctx context.Context, args json.RawMessage) error
	Import(ctx context.Context, args json.RawMessage) error
}

// Module is what this domain hands over to be run.
func (d *Domain) Module(h Handlers) domain.Module {
	return domain.Module{
		Name:  "corpus",
		Types: Types(),
		Subscriptions: []events.Subscription{{
			Name:        IndexKind,
			Title:       "Bring a note into search",
			Description: "Reads the note again and brings search to its current state, or removes it there.",
			Types:       []string{NoteChanged},
			Queue:       "index",
			// Five hours of tries: a search engine may be down for long, and no
			// note must be given up for it.
			Policy:   jobs.Policy{Attempts: 30, Backoff: jobs.DefaultBackoff, Timeout: 30 * time.Second},
			Awaited:  true,
			Coalesce: true,
			Handle:   h.Index,
		}},
		Kinds: []jobs.Kind{{
			Name:        ReindexKind,
			Title:       "Rebuild the search index",
			Description: "Brings every note into search again and removes from it what is no note.",
			Queue:       "index",
			Policy:      jobs.Policy{Attempts: 10, Backoff: jobs.DefaultBackoff, Timeout: 10 * time.Minute},
			Handler:     h.Reindex,
		}, {
			Name:        ImportKind,
			Title:       "Import an uploaded vault",
			Description: "Reads an uploaded archive of Markdown files. Done again after a stop, it changes only what is not there yet.",
			Queue:       "bulk",
			Policy:      jobs.Policy{Attempts: 3, Backoff: jobs.DefaultBackoff, Timeout: 15 * time.Minute},
			Handler:     h.Import,
			Subject:     importSubject,
		}},
		Periodics: []jobs.Periodic{{
			Name:        "corpus.verify",
			Title:       "Compare search with the notes",
			Description: "Looks whether the search engine is in order and holds what the notes are; if not, it is rebuilt.",
			Every:       5 * time.Minute,
			Run:         d.Verify,
		}, {
			Name:        "corpus.purge_trash",
			Title:       "Empty the trash",
			Description: "Removes for good what has been in the trash for 90 days.",
			Every:       24 * time.Hour,
			Run:         d.Purge,
		}},
		Ops: d.ops(),
	}
}

// StartReindex queues a rebuild of the index, unless one waits or runs already.
func (d *Domain) StartReindex(ctx context.Context) (jobs.ID, error) {
	return d.queue.Jobs.Enqueue(ctx, ReindexKind, map[string]string{}, jobs.EnqueueOpts{UniqueByArgs: true})
}
