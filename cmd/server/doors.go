package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// doors are the listeners of this process and the servers behind them.
type doors struct {
	site    *door // nil for role worker
	metrics *door // nil unless asked for
	failed  chan error
}

// door is one listener and, once it is opened, its server.
type door struct {
	net.Listener
	server *http.Server
	leads  atomic.Pointer[http.Handler] // where to: a waiting room, later the site
}

// reachedAt is the base address with the port that was really taken where the
// settings left the choice to the system.
func (d *doors) reachedAt(base *url.URL) *url.URL {
	if d.site == nil || base.Port() != "0" {
		return base
	}
	_, port, err := net.SplitHostPort(d.site.Addr().String())
	if err != nil {
		return base
	}
	taken := *base
	taken.Host = net.JoinHostPort(base.Hostname(), port)
	return &taken
}

// listen opens the ports, or says who has them.
func listen(c config) (_ *doors, err error) {
	d := &doors{failed: make(chan error, 2)}
	if c.role != "worker" {
		if d.site, err = openDoor("GATEHOUSE_ADDR", c.addr, "127.0.0.1:8081"); err != nil {
			return nil, err
		}
	}
	if c.metricsAddr != "" {
		if d.metrics, err = openDoor("GATEHOUSE_METRICS_ADDR", c.metricsAddr, "127.0.0.1:9091"); err != nil {
			return nil, errors.Join(err, d.close())
		}
	}
	return d, nil
}

// openDoor listens at the address of a setting; instead is one to name when it is taken.
func openDoor(name, addr, instead string) (*door, error) {
	l, err := net.Listen("tcp", addr)
	switch {
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("%s is %q: this user may not listen there; ports below 1024 need root or a proxy in front", name, addr)
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is %q: another program listens there already; stop it, or choose another port such as %s=%s", name, addr, name, instead)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("%s is %q: this machine does not have that address; 127.0.0.1 is for this machine only, 0.0.0.0 is every address it has", name, addr)
	case err != nil:
		return nil, fmt.Errorf("%s is %q: cannot listen there: %w", name, addr, err)
	}
	return &door{Listener: l}, nil
}

// serve answers until shutdown; what ends it otherwise comes out of the channel.
func (d *doors) serve(a *app) <-chan error {
	d.open(a.httpLog(), a.site, a.metrics.Handler())
	if d.site != nil {
		d.site.server.RegisterOnShutdown(a.endStreams)
	}
	if d.metrics != nil {
		a.log.Info("metrics are served", "address", "http://"+d.metrics.Addr().String()+"/metrics")
	}
	return d.failed
}

// open lets the doors lead to these handlers, from now on where they stand open already.
func (d *doors) open(errorLog *log.Logger, site, metrics http.Handler) {
	if d.site != nil {
		d.site.open(site, d.failed, &http.Server{
			ReadHeaderTimeout: 10 * time.Second,
			ReadTimeout:       2 * time.Minute, // a vault of 100 MB over a slow line
			WriteTimeout:      time.Minute,     // live streams extend it for themselves
			IdleTimeout:       2 * time.Minute,
			MaxHeaderBytes:    64 << 10,
			ErrorLog:          errorLog,
		})
	}
	if d.metrics != nil {
		d.metrics.open(metrics, d.failed, &http.Server{
			ReadHeaderTimeout: 5 * time.Second,
			WriteTimeout:      15 * time.Second,
			IdleTimeout:       2 * time.Minute,
			MaxHeaderBytes:    16 << 10,
			ErrorLog:          errorLog,
		})
	}
}

func (d *door) open(to http.Handler, failed chan<- error, s *http.Server) {
	d.leads.Store(&to)
	if d.server != nil {
		return
	}
	d.server = s
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*d.leads.Load()).ServeHTTP(w, r) })
	go func() {
		if err := s.Serve(d.Listener); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}()
}

// shutdown lets requests under way finish, then closes what is left.
func (d *doors) shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return errors.Join(d.site.shutdown(ctx), d.metrics.shutdown(ctx))
}

func (d *door) shutdown(ctx context.Context) error {
	if d == nil || d.server == nil {
		return nil
	}
	if err := d.server.Shutdown(ctx); err != nil {
		return d.server.Close()
	}
	return nil
}

// close frees the ports also when serving never began.
func (d *doors) close() error { return errors.Join(d.site.close(), d.metrics.close()) }

func (d *door) close() error {
	if d == nil {
		return nil
	}
	if d.server != nil {
		return d.server.Close()
	}
	if err := d.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
