package webhook

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gatehouse-hq/gatehouse/internal/infra/egress"
)

// peer answers each connection with bytes of its choice, after it has read the request, and says how many requests came.
type peer struct {
	address  string
	requests chan struct{}
}

func newPeer(t *testing.T, answer func(net.Conn)) peer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := peer{address: "http://" + listener.Addr().String() + "/hook", requests: make(chan struct{}, 100)}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.serve(conn, answer)
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-over
	})
	return p
}

func (p peer) serve(conn net.Conn, answer func(net.Conn)) {
	defer func() { _ = conn.Close() }()
	request, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	buffer := make([]byte, 1024)
	for left := request.ContentLength; left > 0; {
		n, err := request.Body.Read(buffer)
		if left -= int64(n); err != nil {
			break
		}
	}
	p.requests <- struct{}{}
	answer(conn)
}

// say writes a text and closes.
func say(text string) func(net.Conn) {
	return func(conn net.Conn) { _, _ = conn.Write([]byte(text)) }
}

// until writes a text again and again for as long as somebody takes it.
func until(text string, every time.Duration) func(net.Conn) {
	return func(conn net.Conn) {
		for {
			if _, err := conn.Write([]byte(text)); err != nil {
				return
			}
			time.Sleep(every)
		}
	}
}

// Whatever comes back, it is one request, its meaning is the status's, it is over in time, and what is kept of it can be
// stored and shown.
func TestOddAnswers(t *testing.T) {
	t.Parallel()
	hints := strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 3)
	for name, test := range map[string]struct {
		answer func(net.Conn)
		status int
		want   Class
	}{
		"hints before the answer":   {say(hints + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), 200, Delivered},
		"100 although nobody asked": {say("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"), 204, Delivered},
		"hints for ever":            {until(hints, time.Millisecond), 0, Retryable},
		"another protocol":          {say("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nhello"), 101, Retryable},
		"another protocol, and silence": {func(c net.Conn) {
			say("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")(c)
			_, _ = c.Read(make([]byte, 1))
		}, 101, Retryable},
		"a short body":                   {say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"), 200, Delivered},
		"a body that must not be there":  {say("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello"), 204, Delivered},
		"broken chunks":                  {say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello"), 200, Delivered},
		"no reason, no headers":          {say("HTTP/1.0 202\r\n\r\n"), 202, Delivered},
		"two answers":                    {say("HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), 500, Retryable},
		"a status nobody knows":          {say("HTTP/1.1 799 What\r\n\r\n"), 799, Retryable},
		"two lengths":                    {say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok"), 0, Retryable},
		"another program":                {say("SSH-2.0-\x1b[31mOpenSSH\x00\xff\r\n"), 0, Retryable},
		"a header without a colon":       {say("HTTP/1.1 500 Oh\r\nnonsense \x00\xff\r\n\r\n"), 0, Retryable},
		"nothing at all":                 {say(""), 0, Retryable},
		"Retry-After twice":              {say("HTTP/1.1 429 Slow\r\nRetry-After: 60\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n"), 429, Snoozed},
		"a redirect to another scheme":   {say("HTTP/1.1 302 Found\r\nLocation: javascript:alert(7)\r\nContent-Length: 0\r\n\r\n"), 302, Redirected},
		"a redirect that cannot be read": {say("HTTP/1.1 302 Found\r\nLocation: http://[::1/%zz\r\nContent-Length: 0\r\n\r\n"), 302, Redirected},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			allow, err := egress.ParseAllow("127.0.0.0/8")
			if err != nil {
				t.Fatal(err)
			}
			client := egress.New(egress.Options{Allow: allow})
			t.Cleanup(client.Close)
			p := newPeer(t, test.answer)
			got := Send(t.Context(), client, Request{URL: p.address, ID: "evt_1", At: time.Now(), Body: []byte("{}"), UserAgent: "Gatehouse/test"})
			if outcome := Classify(got); got.Status != test.status || outcome.Class != test.want {
				t.Errorf("%d %v, %s", got.Status, got.Err, outcome.Class)
			}
			if n := len(p.requests); n != 1 {
				t.Errorf("%d requests", n)
			}
			kept := got.Excerpt + got.Location
			if got.Err != nil {
				kept += got.Err.Error()
			}
			if !utf8.ValidString(kept) || strings.ContainsAny(kept, "\x00\x1b") || strings.Contains(kept, "javascript:") {
				t.Errorf("kept %q", kept)
			}
		})
	}
}

// A process that stops while a name is being looked up has given up itself: the name is not to blame.
func TestAStopDuringALookupIsNoFailure(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 10)
	client := egress.New(egress.Options{Resolver: &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		asked <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}}})
	t.Cleanup(client.Close)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		<-asked
		stop()
	}()
	got := Send(ctx, client, Request{URL: "https://slow.example/hook", ID: "evt_1", At: time.Now(), Body: []byte("{}"), UserAgent: "Gatehouse/test"})
	if Classify(got).Class != Interrupted {
		t.Errorf("%s: %v", got.Kind, got.Err)
	}
}
