package live

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"maps"
	"sync"
	"time"
)

// Look returns the present state of each topic. A topic is a word of a-z; the
// text is compared, not shown.
type Look func(ctx context.Context) (map[string]string, error)

const (
	lookEvery = time.Second
	lookTime  = 3 * time.Second
)

// Hub looks at the topics and tells its readers.
type Hub struct {
	look Look
	log  *slog.Logger
	wake chan struct{}
	end  chan struct{} // closed by Close

	mu       sync.Mutex
	closed   bool
	watching bool
	readers  map[chan struct{}]struct{}
	now      map[string]string // topic → digest; nil before the first look
	work     sync.WaitGroup
}

// New returns a hub at rest.
func New(look Look, log *slog.Logger) *Hub {
	return &Hub{look: look, log: log, wake: make(chan struct{}, 1), end: make(chan struct{}), readers: map[chan struct{}]struct{}{}}
}

// Ring asks for a look now instead of within a second. It never blocks.
func (h *Hub) Ring() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// Close ends every stream and waits until the looking has stopped. Streams
// opened later end at once.
func (h *Hub) Close() {
	h.mu.Lock()
	if !h.closed {
		h.closed = true
		close(h.end)
	}
	h.mu.Unlock()
	h.work.Wait()
}

// join adds a reader. The channel is signalled after each look that found a
// change, and once after the first.
func (h *Hub) join() (changed chan struct{}, leave func()) {
	changed = make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.readers[changed] = struct{}{}
	if h.now != nil && h.watching {
		changed <- struct{}{}
	}
	if !h.watching && !h.closed {
		h.watching = true
		h.work.Go(h.watch)
	}
	return changed, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.readers, changed)
	}
}

// state is what the last look found.
func (h *Hub) state() map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.now)
}

// watch looks while anybody reads.
func (h *Hub) watch() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for first, failing := true, false; ; first = false {
		found, err := h.once(ctx)
		if err != nil && !failing {
			h.log.WarnContext(ctx, "live pages cannot be told what changed; trying again each second", "error", err)
		}
		failing = err != nil
		if !h.tell(found, first) {
			return
		}
		select {
		case <-h.end:
		case <-h.wake:
		case <-time.After(lookEvery):
		}
	}
}

func (h *Hub) once(ctx context.Context) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	texts, err := h.look(ctx)
	if err != nil {
		return nil, err
	}
	digests := make(map[string]string, len(texts))
	for topic, text := range texts {
		sum := sha256.Sum256([]byte(text))
		digests[topic] = hex.EncodeToString(sum[:4])
	}
	return digests, nil
}

// tell hands a finding on, nil for none; false means that nobody reads and the
// watch is over.
func (h *Hub) tell(found map[string]string, first bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.readers) == 0 || h.closed {
		h.watching = false
		return false
	}
	if found == nil || !first && maps.Equal(found, h.now) {
		return true
	}
	h.now = found
	for changed := range h.readers {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	return true
}
