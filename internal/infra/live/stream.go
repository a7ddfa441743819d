package live

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// beat is shorter than the 30 s after which proxies drop a silent connection.
	beat = 20 * time.Second
	// writeTime bounds one write; it also lifts the server's own write timeout,
	// which would end the stream (field case F37).
	writeTime = 30 * time.Second
	// streamLife ends a stream so that the browser, which reconnects, is asked
	// again whether it is signed in.
	streamLife = 10 * time.Minute
)

// ServeHTTP streams until the client goes away, the hub closes or the stream
// is old. A reader names what it last saw in Last-Event-ID or ?last=.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := http.NewResponseController(w)
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store, no-transform")
	header.Set("X-Accel-Buffering", "no") // nginx would collect the bytes
	if r.Method == http.MethodHead {
		return // nothing will be read, and nobody should wait for a stream without bytes
	}
	last := r.Header.Get("Last-Event-ID")
	if last == "" {
		last = r.URL.Query().Get("last")
	}
	s := stream{w: w, out: out, seen: parseID(last)}
	if s.send(":\nretry: 2000\n\n") != nil {
		return
	}
	changed, leave := h.join()
	defer leave()
	old := time.After(streamLife)
	for {
		var err error
		select {
		case <-r.Context().Done():
			return
		case <-h.end:
			return
		case <-old:
			return
		case <-changed:
			err = s.catchUp(h.state())
		case <-time.After(beat):
			err = s.send(":\n\n")
		}
		if err != nil {
			return // the client is gone
		}
	}
}

type stream struct {
	w    io.Writer
	out  *http.ResponseController
	seen map[string]string // nil: a new reader, whose page is as it should be
}

// catchUp sends one message for each topic that differs from what was seen. A
// new reader gets its first id with a greeting.
func (s *stream) catchUp(now map[string]string) error {
	var b strings.Builder
	topics := sortedTopics(now)
	if s.seen == nil {
		s.seen = now
		fmt.Fprintf(&b, "event: hello\nid: %s\ndata: hello\n\n", formatID(s.seen))
	}
	for _, topic := range topics {
		if s.seen[topic] == now[topic] {
			continue
		}
		s.seen[topic] = now[topic]
		// A message without data is not dispatched (HTML, server-sent events).
		fmt.Fprintf(&b, "event: %s\nid: %s\ndata: changed\n\n", topic, formatID(s.seen))
	}
	if b.Len() == 0 {
		return nil
	}
	return s.send(b.String())
}

func (s *stream) send(text string) error {
	if err := s.out.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	if _, err := io.WriteString(s.w, text); err != nil {
		return err
	}
	return s.out.Flush()
}

// formatID writes what was seen as "events.0a1b2c3d-tasks.4e5f6071".
func formatID(seen map[string]string) string {
	parts := make([]string, 0, len(seen))
	for _, topic := range sortedTopics(seen) {
		parts = append(parts, topic+"."+seen[topic])
	}
	return strings.Join(parts, "-")
}

var idPart = regexp.MustCompile(`^([a-z]{1,30})\.([0-9a-f]{8})$`)

// parseID reads an id back; nil for none or one that is not ours.
func parseID(id string) map[string]string {
	if id == "" || len(id) > 1000 {
		return nil
	}
	seen := map[string]string{}
	for part := range strings.SplitSeq(id, "-") {
		m := idPart.FindStringSubmatch(part)
		if m == nil {
			return nil
		}
		seen[m[1]] = m[2]
	}
	return seen
}

func sortedTopics(m map[string]string) []string {
	topics := make([]string, 0, len(m))
	for topic := range m {
		topics = append(topics, topic)
	}
	slices.Sort(topics)
	return topics
}
