package live

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"maps"
	"net/http"
	"sync"
	"time"
)

// Look returns the present state of each topic. A topic is a word of a-z; the
// text is compared, not shown.
type Look func(ctx context.Context) (map[string]string, error)

// Join is one look of several. A topic that more than one of them knows is out of date when any of them says so.
func Join(looks ...Look) Look {
	return func(ctx context.Context) (map[string]string, error) {
		all := map[string]string{}
		for _, look := range looks {
			texts, err := look(ctx)
			if err != nil {
				return nil, err
			}
			for topic, text := range texts {
				all[topic] += text + "\n"
			}
		}
		return all, nil
	}
}

// Still tells whether the sender of r may read on. Signed out means not, for good; an error means that it could not be
// told.
type Still func(r *http.Request) (bool, error)

const (
	lookEvery = time.Second
	lookTime  = 3 * time.Second
)

// Unknown is the position of a page that could not be told where the stream is: everything may have changed since.
const Unknown = "unknown"

// Hub looks at the topics and tells its readers.
type Hub struct {
	look  Look
	still Still
	log   *slog.Logger
	wake  chan struct{}
	end   chan struct{} // closed by Close
	beat  time.Duration

	mu       sync.Mutex
	closed   bool
	watching bool
	readers  map[chan struct{}]func() // to what cuts a write short that is under way
	now      map[string]string        // topic → digest, as the readers know it; nil before the first look
	latest   map[string]string        // what anybody found last, by a look that began at latestAt
	latestAt time.Time
	work     sync.WaitGroup
}

// New returns a hub at rest. still is asked before each message.
func New(look Look, still Still, log *slog.Logger) *Hub {
	return &Hub{look: look, still: still, log: log, wake: make(chan struct{}, 1), end: make(chan struct{}), beat: beat, readers: map[chan struct{}]func(){}}
}

// Position is where the stream is, or was up to two seconds ago. Whoever asks before reading the data of a page, and
// begins to read the stream there, misses no change.
func (h *Hub) Position(ctx context.Context) string {
	h.mu.Lock()
	found, fresh := h.latest, time.Since(h.latestAt) < 2*lookEvery
	h.mu.Unlock()
	if !fresh {
		var err error
		if found, err = h.once(ctx); err != nil {
			return Unknown
		}
	}
	return formatID(found)
}

// Ring asks for a look now instead of within a second. It never blocks.
func (h *Hub) Ring() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// Close ends every stream, also one whose client takes nothing, and waits until the looking has stopped. Streams
// opened later end at once.
func (h *Hub) Close() {
	h.mu.Lock()
	if !h.closed {
		h.closed = true
		close(h.end)
		for _, cut := range h.readers {
			cut()
		}
	}
	h.mu.Unlock()
	h.work.Wait()
}

// join adds a reader. The channel is signalled after each look that found a
// change, and once after the first.
func (h *Hub) join(cut func()) (changed chan struct{}, leave func()) {
	changed = make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.readers[changed] = cut
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
	began := time.Now()
	texts, err := h.look(ctx)
	if err != nil {
		return nil, err
	}
	digests := make(map[string]string, len(texts))
	for topic, text := range texts {
		sum := sha256.Sum256([]byte(text))
		digests[topic] = hex.EncodeToString(sum[:4])
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if began.After(h.latestAt) {
		h.latest, h.latestAt = digests, began
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
