package sink

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Lean is a second way into a Sink for benchmarks: a bare HTTP/1.1 responder on a listener of its own. On two shared
// cores net/http as receiver costs as much as the sender does, and would be what the figure measures. It knows a plan's
// status and delay, counts, and remembers ids; it keeps no bodies.
type Lean struct {
	sink     *Sink
	listener net.Listener
	serving  sync.WaitGroup
	watch    atomic.Pointer[func(hook, id string)]
	mu       sync.Mutex
	open     map[net.Conn]struct{}
	closed   bool
}

// ListenLean serves the sink's hooks on addr until Close.
func (s *Sink) ListenLean(addr string) (*Lean, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("lean sink: %w", err)
	}
	lean := &Lean{sink: s, listener: listener, open: map[net.Conn]struct{}{}}
	lean.serving.Go(lean.accept)
	return lean, nil
}

// URL is where hooks live: append the name.
func (l *Lean) URL() string { return "http://" + l.listener.Addr().String() + "/hook/" }

// Watch calls fn for each request that has been read, before it is answered, from several goroutines at once.
func (l *Lean) Watch(fn func(hook, id string)) { l.watch.Store(&fn) }

// Close stops listening, closes every connection, and returns when all is quiet.
func (l *Lean) Close() {
	_ = l.listener.Close()
	l.mu.Lock()
	l.closed = true
	for conn := range l.open {
		_ = conn.Close()
	}
	l.mu.Unlock()
	l.serving.Wait()
}

func (l *Lean) accept() {
	for {
		conn, err := l.listener.Accept()
		if err != nil {
			return
		}
		if !l.track(conn) {
			_ = conn.Close()
			return
		}
		l.serving.Go(func() {
			defer l.forget(conn)
			// Any error here is the caller's going away or its broken request: closing is the whole answer.
			_ = l.converse(conn)
		})
	}
}

func (l *Lean) track(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.open[conn] = struct{}{}
	return true
}

func (l *Lean) forget(conn net.Conn) {
	_ = conn.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, conn)
}

func (l *Lean) converse(conn net.Conn) error {
	in := bufio.NewReaderSize(conn, 32<<10)
	var out []byte
	for {
		request, err := readLean(in)
		if err != nil {
			return err
		}
		if watch := l.watch.Load(); watch != nil {
			(*watch)(request.name, request.id)
		}
		h, step, record := l.sink.arrive(request.name)
		if step.Delay > 0 {
			time.Sleep(time.Duration(step.Delay))
		}
		l.sink.depart(h, request.id, record)
		out = append(out[:0], "HTTP/1.1 "...)
		out = strconv.AppendInt(out, int64(max(step.status(), 200)), 10)
		out = append(out, " Planned\r\nContent-Length: 0\r\n\r\n"...)
		if _, err := conn.Write(out); err != nil {
			return err
		}
	}
}

// depart counts a lean request as seen and gone.
func (s *Sink) depart(h *hook, id string, record Recording) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.inFlight--
	h.requests++
	if record != RecordCount && id != "" {
		h.ids[id]++
	}
	if h.arrived != nil {
		close(h.arrived)
		h.arrived = nil
	}
}

type leanRequest struct {
	name, id string
}

var errNotLean = errors.New("not a request the lean sink reads")

// readLean reads one request and skips its body.
func readLean(in *bufio.Reader) (leanRequest, error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return leanRequest{}, err
	}
	fields := strings.Fields(string(line))
	if len(fields) != 3 {
		return leanRequest{}, errNotLean
	}
	name, ok := strings.CutPrefix(fields[1], "/hook/")
	if !ok {
		return leanRequest{}, errNotLean
	}
	request, length, chunked := leanRequest{name: name}, 0, false
	for {
		if line, err = in.ReadSlice('\n'); err != nil {
			return leanRequest{}, err
		}
		header, value, found := bytes.Cut(line, []byte(":"))
		if !found {
			break
		}
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(header, []byte("webhook-id")):
			request.id = string(value)
		case bytes.EqualFold(header, []byte("content-length")):
			if length, err = strconv.Atoi(string(value)); err != nil || length < 0 {
				return leanRequest{}, errNotLean
			}
		case bytes.EqualFold(header, []byte("transfer-encoding")):
			if chunked = bytes.EqualFold(value, []byte("chunked")); !chunked {
				return leanRequest{}, errNotLean
			}
		}
	}
	if chunked {
		return request, skipChunks(in)
	}
	_, err = io.CopyN(io.Discard, in, int64(length))
	return request, err
}

// skipChunks reads a chunked body and the trailer behind it (RFC 9112 §7.1).
func skipChunks(in *bufio.Reader) error {
	if _, err := io.Copy(io.Discard, httputil.NewChunkedReader(in)); err != nil {
		return err
	}
	for {
		line, err := in.ReadSlice('\n')
		if err != nil || len(bytes.TrimSpace(line)) == 0 {
			return err
		}
	}
}
