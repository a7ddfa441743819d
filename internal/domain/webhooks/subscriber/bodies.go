package subscriber

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
)

// bodyBytes bounds the bodies a process remembers.
const bodyBytes = 12 << 20

// bodies remembers the bodies of the events this process fanned out last, oldest out first: reading each event again
// costs a delivery a round trip, and encoding it again time (+43 % deliveries/s without, measured). A body never changes.
type bodies struct {
	read func(ctx context.Context, id string) (events.Event, error)

	mu    sync.Mutex
	byID  map[string][]byte
	order []string
	head  int
	bytes int
}

func (b *bodies) add(e events.Event) {
	body, err := (Wire{}).Body(e)
	if err != nil {
		return // the delivery finds out, and says so
	}
	b.keep(e.ID, body)
}

func (b *bodies) keep(id string, body []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, known := b.byID[id]; known {
		return
	}
	b.byID[id] = body
	b.order = append(b.order, id)
	b.bytes += len(body) + 150
	for b.bytes > bodyBytes {
		oldest := b.order[b.head]
		b.head++
		b.bytes -= len(b.byID[oldest]) + 150
		delete(b.byID, oldest)
	}
	if b.head > 4096 && b.head > len(b.order)/2 {
		b.order = append([]string(nil), b.order[b.head:]...)
		b.head = 0
	}
}

// get is the body of an event. It fails with a discard when the event is gone or cannot be sent.
func (b *bodies) get(ctx context.Context, id string) ([]byte, error) {
	b.mu.Lock()
	body, ok := b.byID[id]
	b.mu.Unlock()
	if ok {
		return body, nil
	}
	e, err := b.read(ctx, id)
	if errors.Is(err, events.ErrNotFound) {
		return nil, jobs.Discard(events.ErrPruned)
	}
	if err != nil {
		return nil, fmt.Errorf("read event %s: %w", id, err)
	}
	body, err = (Wire{}).Body(e)
	if err != nil {
		return nil, jobs.Discard(err)
	}
	b.keep(id, body)
	return body, nil
}
