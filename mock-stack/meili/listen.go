package meili

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Running is an engine on a listener of its own, which an outage of the refusing kind really closes.
type Running struct {
	*Server
	addr    string
	serving sync.WaitGroup
	mu      sync.Mutex
	http    *http.Server // nil while refusing
}

// Start serves a new engine on addr (host:port, port 0 for any) until Close.
func Start(addr, key string) (*Running, error) {
	run := &Running{Server: New(key), addr: addr}
	if err := run.open(); err != nil {
		return nil, err
	}
	run.onOutage = run.follow
	return run, nil
}

// URL is the address to configure as GATEHOUSE_MEILI_URL. It stays the same through outages.
func (r *Running) URL() string { return "http://" + r.addr }

// Close ends it and returns when all is quiet.
func (r *Running) Close() {
	_ = r.SetOutage(OutageRefuse) // closing reports nothing that matters now
	r.serving.Wait()
}

func (r *Running) follow(outage Outage) error {
	if outage != OutageRefuse {
		return r.open()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.http == nil {
		return nil
	}
	server := r.http
	r.http = nil
	return server.Close()
}

func (r *Running) open() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.http != nil {
		return nil
	}
	listener, err := net.Listen("tcp", r.addr)
	if err != nil {
		return fmt.Errorf("fake Meilisearch: %w", err)
	}
	r.addr = listener.Addr().String()
	server := &http.Server{Handler: r.Server, ReadHeaderTimeout: 10 * time.Second}
	r.http = server
	r.serving.Go(func() { _ = server.Serve(listener) }) // always ErrServerClosed
	return nil
}
