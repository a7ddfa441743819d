package blackbox

import (
	"fmt"
	"net"
	"net/url"
	"sync"
)

// Link is the network between a server and its database: a relay on a port of
// 127.0.0.1 that can lose connections, refuse new ones, and swallow what is
// sent without a word.
type Link struct {
	target struct{ network, address string }
	listen net.Listener
	url    string

	mu      sync.Mutex
	conns   map[net.Conn]struct{}
	refuse  bool
	turned  int           // connections that were refused
	stalled chan struct{} // closed when traffic may go on; nil: it goes on
	closed  bool
	work    sync.WaitGroup
}

// NewLink relays to the database at databaseURL until Close.
func NewLink(databaseURL string) (*Link, error) {
	u, err := url.Parse(databaseURL)
	if err != nil {
		return nil, fmt.Errorf("the address of the database cannot be read")
	}
	l := &Link{conns: map[net.Conn]struct{}{}}
	q := u.Query()
	if dir := q.Get("host"); dir != "" {
		l.target.network, l.target.address = "unix", dir+"/.s.PGSQL."+q.Get("port")
	} else {
		l.target.network, l.target.address = "tcp", u.Host
	}
	if l.listen, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	through := *u
	through.Host, through.RawQuery = l.listen.Addr().String(), "sslmode=disable"
	l.url = through.String()
	l.work.Go(l.accept)
	return l, nil
}

// URL is the database's address through the link.
func (l *Link) URL() string { return l.url }

// Cut ends every connection as a reset does.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		if t, ok := c.(*net.TCPConn); ok {
			_ = t.SetLinger(0) // a reset, not a farewell
		}
		_ = c.Close() // it is the end either way
	}
	clear(l.conns)
}

// Refuse makes new connections end at once, or lets them through again.
func (l *Link) Refuse(yes bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuse = yes
}

// Turned is how many connections were refused so far.
func (l *Link) Turned() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.turned
}

// Stall swallows all traffic without closing anything, or lets it go on.
func (l *Link) Stall(yes bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case yes && l.stalled == nil:
		l.stalled = make(chan struct{})
	case !yes && l.stalled != nil:
		close(l.stalled)
		l.stalled = nil
	}
}

// Close ends the link and all that goes through it.
func (l *Link) Close() {
	_ = l.listen.Close() // nobody can do anything about it
	l.Stall(false)
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.Cut()
	l.work.Wait()
}

func (l *Link) accept() {
	for {
		from, err := l.listen.Accept()
		if err != nil {
			return
		}
		l.mu.Lock()
		refuse := l.refuse
		if refuse {
			l.turned++
		}
		l.mu.Unlock()
		if refuse {
			_ = from.Close()
			continue
		}
		to, err := net.Dial(l.target.network, l.target.address)
		if err != nil {
			_ = from.Close() // as if nobody listened
			continue
		}
		if !l.keep(from, to) {
			return
		}
		l.work.Go(func() { l.pass(from, to) })
		l.work.Go(func() { l.pass(to, from) })
	}
}

func (l *Link) keep(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		if l.closed {
			_ = c.Close()
			continue
		}
		l.conns[c] = struct{}{}
	}
	return !l.closed
}

func (l *Link) pass(from, to net.Conn) {
	defer func() {
		_, _ = from.Close(), to.Close()
		l.mu.Lock()
		delete(l.conns, from)
		delete(l.conns, to)
		l.mu.Unlock()
	}()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			l.mu.Lock()
			stalled := l.stalled
			l.mu.Unlock()
			if stalled != nil {
				<-stalled
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return // the connection has ended
		}
	}
}
