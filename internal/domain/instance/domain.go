package instance

import (
	"cmp"
	"context"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// Waiting is what a hold keeps back.
type Waiting struct {
	Brought   int        `json:"brought" jsonschema:"deliveries of events that came with the copy"`
	Since     int        `json:"since" jsonschema:"deliveries of events that happened here since"`
	Unmatched int        `json:"unmatched" jsonschema:"events that came with the copy and were not yet matched to receivers"`
	Oldest    *time.Time `json:"oldest,omitempty" jsonschema:"when the oldest of them was due"`
}

// Sender is a domain whose sends a hold keeps back.
type Sender interface {
	// Held counts what waits. Events up to until came with the copy.
	Held(ctx context.Context, q pg.Querier, until int64) (Waiting, error)
	// SendHeld lets go what waits, once tx has committed.
	SendHeld(ctx context.Context, tx pg.Tx) error
	// DropHeld gives up what came with the copy, lets go the rest, and says how much it dropped.
	DropHeld(ctx context.Context, tx pg.Tx, until int64) (int, error)
}

// Deps are what the use cases stand on. DataDir is where nonces are mirrored.
type Deps struct {
	DB      *pg.DB
	DataDir string
	Senders []Sender
	// SignOut ends every session and one-time link, and says how many sessions there were.
	SignOut func(ctx context.Context, tx pg.Tx) (int, error)
	// Reindex queues a rebuild of search, unless one waits already.
	Reindex func(ctx context.Context) error
	// Disks are the places whose free space matters.
	Disks []Disk
	// Forgotten is the age at which a transaction is taken for forgotten: 15 min when none is given. Nothing of ours lasts
	// that long, but a backup of a large database may.
	Forgotten time.Duration
}

// Domain is the use cases. It is safe for concurrent use.
type Domain struct{ Deps }

// New builds the domain.
func New(d Deps) *Domain {
	d.Forgotten = cmp.Or(d.Forgotten, 15*time.Minute)
	return &Domain{d}
}

// None is the input of an operation that needs none.
type None struct{}
