package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"
)

// doors are the listeners of this process and the servers behind them.
type doors struct {
	site   net.Listener // nil for role worker
	server *http.Server
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

// serve answers until shutdown; what ends it otherwise comes out of the channel.
func (d *doors) serve(a *app) <-chan error {
	failed := make(chan error, 1)
	if d.site == nil {
		return failed
	}
	d.server = &http.Server{
		Handler:           a.site,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       2 * time.Minute, // a vault of 100 MB over a slow line
		WriteTimeout:      time.Minute,     // live streams extend it for themselves
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          a.httpLog(),
	}
	d.server.RegisterOnShutdown(a.endStreams)
	go func() {
		if err := d.server.Serve(d.site); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}()
	return failed
}

// shutdown lets requests under way finish, then closes what is left.
func (d *doors) shutdown(ctx context.Context) error {
	if d.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := d.server.Shutdown(ctx); err != nil {
		return d.server.Close()
	}
	return nil
}

// close frees the port also when serving never began.
func (d *doors) close() error {
	if d.site == nil {
		return nil
	}
	if err := d.site.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
