package egress

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptrace"
	"net/netip"
	"sync/atomic"
	"time"
)

// Timing collects when the stages of one request ended. The dialer may still report after the request was given up, so
// every field is atomic.
type Timing struct {
	start                                  time.Time
	dnsStart, dnsDone, dialStart, dialDone atomic.Int64
	tlsStart, tlsDone, firstByte           atomic.Int64
	reused                                 atomic.Bool
	remote                                 atomic.Pointer[netip.AddrPort]
}

// Times are the durations of the stages; 0 for one that did not happen, as on a reused connection.
type Times struct {
	DNS       time.Duration
	Connect   time.Duration
	TLS       time.Duration
	FirstByte time.Duration // from the start of the request
	Reused    bool
	Remote    netip.Addr // invalid if no connection was made
}

// Trace returns a context whose request reports to the returned Timing.
func Trace(ctx context.Context) (context.Context, *Timing) {
	t := &Timing{start: time.Now()}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:              t.connected,
		GotFirstResponseByte: func() { t.mark(&t.firstByte) },
		DNSStart:             func(httptrace.DNSStartInfo) { t.mark(&t.dnsStart) },
		DNSDone:              func(httptrace.DNSDoneInfo) { t.mark(&t.dnsDone) },
		ConnectStart:         func(string, string) { t.mark(&t.dialStart) },
		ConnectDone:          func(string, string, error) { t.mark(&t.dialDone) },
		TLSHandshakeStart:    func() { t.mark(&t.tlsStart) },
		TLSHandshakeDone:     func(tls.ConnectionState, error) { t.mark(&t.tlsDone) },
	}), t
}

// mark notes the first time a stage is reached, in nanoseconds since the start and never 0.
func (t *Timing) mark(stage *atomic.Int64) {
	stage.CompareAndSwap(0, max(int64(time.Since(t.start)), 1))
}

func (t *Timing) connected(info httptrace.GotConnInfo) {
	t.reused.Store(info.Reused)
	if tcp, ok := info.Conn.RemoteAddr().(*net.TCPAddr); ok {
		remote := tcp.AddrPort()
		t.remote.Store(&remote)
	}
}

// Times gives what has been measured so far.
func (t *Timing) Times() Times {
	times := Times{
		DNS: between(&t.dnsStart, &t.dnsDone), Connect: between(&t.dialStart, &t.dialDone), TLS: between(&t.tlsStart, &t.tlsDone),
		FirstByte: time.Duration(t.firstByte.Load()), Reused: t.reused.Load(),
	}
	if remote := t.remote.Load(); remote != nil {
		times.Remote = remote.Addr().Unmap()
	}
	return times
}

func between(from, to *atomic.Int64) time.Duration {
	if end := to.Load(); end > 0 {
		return time.Duration(max(end-from.Load(), 0))
	}
	return 0
}
