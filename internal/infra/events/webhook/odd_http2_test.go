package webhook

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/gatehouse-hq/gatehouse/internal/infra/egress"
)

// framed speaks HTTP/2 by hand: answer is called with each whole request's stream.
type framed struct {
	*http2.Framer
	requests int
}

func (f *framed) head(stream uint32, end bool, fields ...string) {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i := 0; i < len(fields); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: end})
}

// serve reads frames until the other end has gone.
func (f *framed) serve(conn net.Conn, answer func(f *framed, stream uint32)) {
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	f.Framer = http2.NewFramer(conn, conn)
	_ = f.WriteSettings()
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		if s, ok := frame.(*http2.SettingsFrame); ok && !s.IsAck() {
			_ = f.WriteSettingsAck()
		}
		if d, ok := frame.(*http2.DataFrame); ok && d.StreamEnded() {
			f.requests++
			answer(f, d.StreamID)
		}
	}
}

// The same over HTTP/2: the status decides, and what the protocol allows a receiver to do ends in time.
func TestOddHTTP2(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer   func(f *framed, stream uint32)
		status   int
		want     Class
		requests int
	}{
		"hints, an answer": {func(f *framed, s uint32) {
			f.head(s, false, ":status", "103", "link", "</a>")
			f.head(s, true, ":status", "204")
		}, 204, Delivered, 1},
		"cut off after the status": {func(f *framed, s uint32) {
			f.head(s, false, ":status", "200")
			_ = f.WriteRSTStream(s, http2.ErrCodeInternal)
		}, 200, Delivered, 1},
		"going away after the status": {func(f *framed, s uint32) {
			f.head(s, true, ":status", "202")
			_ = f.WriteGoAway(s, http2.ErrCodeNo, nil)
		}, 202, Delivered, 1},
		"cut off before the status":  {func(f *framed, s uint32) { _ = f.WriteRSTStream(s, http2.ErrCodeCancel) }, 0, Retryable, 1},
		"a status that is no number": {func(f *framed, s uint32) { f.head(s, true, ":status", "2xx") }, 0, Retryable, 1},
		"silence":                    {func(*framed, uint32) {}, 0, Retryable, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			template := httptest.NewTLSServer(http.NotFoundHandler())
			certificates := template.TLS.Certificates
			roots := x509.NewCertPool()
			roots.AddCert(template.Certificate())
			template.Close()
			listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: certificates, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12})
			if err != nil {
				t.Fatal(err)
			}
			f, over, conns := &framed{}, make(chan struct{}), make(chan net.Conn, 1)
			go func() {
				defer close(over)
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				conns <- conn
				f.serve(conn, test.answer)
			}()
			allow, err := egress.ParseAllow("127.0.0.0/8")
			if err != nil {
				t.Fatal(err)
			}
			client := egress.New(egress.Options{Allow: allow, TLS: &tls.Config{RootCAs: roots, ServerName: "example.com", MinVersion: tls.VersionTLS12}})
			got := Send(t.Context(), client, Request{URL: "https://" + listener.Addr().String() + "/hook", ID: "evt_1", At: time.Now(), Body: []byte(`{"a":1}`), UserAgent: "Gatehouse/test"})
			client.Close()
			_ = (<-conns).Close() // the client keeps it while a ping of its own is unanswered
			_ = listener.Close()
			<-over
			if outcome := Classify(got); got.Status != test.status || outcome.Class != test.want {
				t.Errorf("%d %v, %s", got.Status, got.Err, outcome.Class)
			}
			if f.requests != test.requests {
				t.Errorf("%d whole requests", f.requests)
			}
		})
	}
}
