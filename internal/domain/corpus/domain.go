package corpus

import (
	"context"
	"fmt"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus/markdown"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/search"
)

// Deps are what the use cases stand on.
type Deps struct {
	DB       *pg.DB
	Recorder events.Recorder
	Engine   search.Engine
	// Ring wakes the relay after a commit: trigger-born events need it as
	// much as recorded ones. Nil means that the relay finds them by itself.
	Ring func()
	// Words are those that rendering adds to a page.
	Words markdown.Words
}

// Domain is the use cases of notes. It is safe for concurrent use.
type Domain struct {
	db       *pg.DB
	rec      events.Recorder
	engine   search.Engine
	ring     func()
	words    markdown.Words
	markdown *markdown.Renderer
	queue    Queue
	waiters  chan struct{}
}

// New builds the domain. Until Connect it enqueues nothing and its receipts
// come at once.
func New(d Deps) *Domain {
	if d.Ring == nil {
		d.Ring = func() {}
	}
	return &Domain{db: d.DB, rec: d.Recorder, engine: d.Engine, ring: d.Ring, words: d.Words,
		markdown: markdown.New(), waiters: make(chan struct{}, maxWaiters)}
}

// Queue is what the domain needs of bus and queue, which are themselves built
// from the modules of all domains and so come later.
type Queue struct {
	Jobs   jobs.Jobs
	Fanout Fanout
	Wait   JobWaiter
}

// Connect hands over bus and queue. Call it once, before the first use.
func (d *Domain) Connect(q Queue) { d.queue = q }

func (d *Domain) store() store { return store{q: d.db} }

// write runs fn in a transaction that wakes the relay when it has committed,
// and turns the database's refusals into words. The result names the
// transaction, by which its events are found.
func (d *Domain) write(ctx context.Context, slug bool, fn func(tx pg.Tx, s store) error) (txid uint64, err error) {
	err = pg.InTx(ctx, d.db, func(tx pg.Tx) error {
		tx.AfterCommit(d.ring)
		if err := fn(tx, store{q: tx}); err != nil {
			return err
		}
		txid, err = events.TxID(ctx, tx)
		return err
	})
	return txid, refusal(err, slug)
}

// facts are what is derived from a body when it is written.
type facts struct {
	tags  []string
	links []markdown.Ref
}

func (d *Domain) derive(ctx context.Context, body string) (facts, error) {
	links, err := d.markdown.Links(body)
	if err != nil {
		return facts{}, fmt.Errorf("read links: %w", err)
	}
	page, err := d.markdown.Render(ctx, body, markdown.Options{})
	if err != nil {
		return facts{}, fmt.Errorf("read tags: %w", err)
	}
	return facts{tags: distinctTags(page.Tags), links: links}, nil
}
