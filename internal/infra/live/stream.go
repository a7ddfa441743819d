package live

import (
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

// ServeHTTP streams until the client goes away or is signed out, the hub closes or the stream is old. A reader names
// what it last saw in Last-Event-ID or ?last=, and ?brief asks for an answer that ends with its first message, for a
// reader behind a proxy that hands nothing on before the end.
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
	changed, leave := h.join(func() { _ = out.SetWriteDeadline(time.Now()) })
	defer leave()
	s := stream{hub: h, r: r, w: w, out: out, seen: parseID(last), brief: r.URL.Query().Has("brief")}
	if s.send(":\nretry: 2000\n\n") != nil {
		return
	}
	old := time.After(streamLife)
	for !s.over {
		var err error
		select {
		case <-r.Context().Done():
			return
		case <-h.end:
			return
		case <-old:
			return
		case <-changed:
			err = s.tell(s.news(h.state()))
		case <-time.After(h.beat):
			err = s.tell(s.message("beat"))
		}
		if err != nil {
			return // the client is gone, or nobody can tell who it is: it will ask again
		}
	}
}

type stream struct {
	hub   *Hub
	r     *http.Request
	w     io.Writer
	out   *http.ResponseController
	seen  map[string]string // nil: a reader that says nothing of its page
	brief bool
	met   bool // the reader was told where the stream is
	over  bool
}

// news names what differs from what was seen. A reader that has missed nothing is greeted, so that it knows: its page is
// as it should be.
func (s *stream) news(now map[string]string) string {
	var changed []string
	if s.seen != nil {
		for _, topic := range sortedTopics(now) {
			if s.seen[topic] != now[topic] {
				changed = append(changed, topic)
			}
		}
	}
	greet := !s.met && !s.brief
	s.seen, s.met = now, true
	switch {
	case len(changed) > 0:
		return s.message(strings.Join(changed, " "))
	case greet:
		return s.message("hello")
	}
	return ""
}

// message says something, and where the stream is. Beats are such messages and no comments: a browser shows no comment to
// the page, which has to notice a line that has fallen silent.
func (s *stream) message(text string) string {
	return "id: " + formatID(s.seen) + "\ndata: " + text + "\n\n"
}

// tell sends a message to a reader that is still signed in; any other is told so, and nothing else.
func (s *stream) tell(text string) error {
	if text == "" {
		return nil
	}
	may, err := s.hub.still(s.r)
	if err != nil {
		return err
	}
	if !may {
		text = "data: out\n\n"
	}
	s.over = !may || s.brief
	return s.send(text)
}

func (s *stream) send(text string) error {
	if err := s.out.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	select {
	case <-s.hub.end: // Close has cut writes that were under way, and this one would be after it
		return http.ErrServerClosed
	default:
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

// parseID reads an id back; nil for none. Of one that is not ours nothing is known, so that everything is news.
func parseID(id string) map[string]string {
	if id == "" {
		return nil
	}
	seen := map[string]string{}
	if len(id) > 1000 {
		return seen
	}
	for part := range strings.SplitSeq(id, "-") {
		m := idPart.FindStringSubmatch(part)
		if m == nil {
			return map[string]string{}
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
