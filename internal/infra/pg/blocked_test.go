package pg_test

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

// wall stands before a database. While it is up, what arrives is swallowed:
// nothing is refused and nothing answered, like a firewall that drops.
type wall struct {
	mu     sync.Mutex
	up     bool
	opened chan struct{}
}

func (w *wall) raise() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.up, w.opened = true, make(chan struct{})
}

func (w *wall) open() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.up = false
	close(w.opened)
}

// pass blocks while the wall is up.
func (w *wall) pass(ctx context.Context) bool {
	w.mu.Lock()
	up, opened := w.up, w.opened
	w.mu.Unlock()
	if !up {
		return true
	}
	select {
	case <-opened:
		return true
	case <-ctx.Done():
		return false
	}
}

func (w *wall) carry(ctx context.Context, to, from net.Conn) {
	defer func() { _ = to.Close(); _ = from.Close() }()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !w.pass(ctx) {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// stand listens on loopback and returns the address of the database behind it.
func (w *wall) stand(t *testing.T, databaseURL string) string {
	t.Helper()
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	network, target := "tcp", u.Host
	if socket := u.Query().Get("host"); socket != "" {
		network, target = "unix", socket+"/.s.PGSQL."+portOf(u)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(func() { stop(); _ = l.Close(); all.Wait() })
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial(network, target)
			if err != nil {
				_ = client.Close()
				continue
			}
			context.AfterFunc(ctx, func() { _ = client.Close(); _ = server.Close() })
			all.Go(func() { w.carry(ctx, server, client) })
			all.Go(func() { w.carry(ctx, client, server) })
		}
	})
	q := u.Query()
	q.Del("host")
	q.Del("port")
	q.Set("sslmode", "disable")
	u.Host, u.RawQuery = l.Addr().String(), q.Encode()
	return u.String()
}

func portOf(u *url.URL) string {
	if p := u.Query().Get("port"); p != "" {
		return p
	}
	if p := u.Port(); p != "" {
		return p
	}
	return "5432"
}

// The way to the database swallows packets for a while (field case F02): the
// listener notices by itself, comes back without a restart, and meanwhile its
// tries are spaced out.
func TestListenerSurvivesSwallowedPackets(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.URL(t)
	db, err := pg.Open(t.Context(), databaseURL, pg.Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	w := &wall{}
	lost := &countingLog{Writer: io.Discard}
	l := pg.NewListener(w.stand(t, databaseURL), lost.logger())
	heard := make(chan string, 1000)
	l.Subscribe("things", func(p string) { heard <- p })
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { l.Run(ctx); close(done) }()
	defer func() { stop(); <-done }()

	await := func(payload string) {
		t.Helper()
		guard := time.After(3 * time.Minute)
		for {
			select {
			case p := <-heard:
				if p == payload {
					return
				}
			case <-guard:
				t.Fatalf("never heard %q", payload)
			}
		}
	}
	await("")
	w.raise()
	lost.await(t, 1) // noticed while nothing is said: by the check of an idle connection
	if _, err := db.Exec(t.Context(), `select pg_notify('things', 'said meanwhile')`); err != nil {
		t.Fatal(err)
	}
	w.open()
	await("") // back: everybody looks once, so what was said meanwhile is not missed
	if _, err := db.Exec(t.Context(), `select pg_notify('things', 'after')`); err != nil {
		t.Fatal(err)
	}
	await("after")
	if n := lost.count(); n > 20 {
		t.Errorf("%d tries while nothing could be reached", n)
	}
}
