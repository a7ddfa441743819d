package ui

import (
	"context"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/web/assets"
)

// Env is what surrounds a page while it is rendered. It is made once a request.
type Env struct {
	Assets    *assets.Set
	Now       time.Time      // the moment that relative times count from
	Zone      *time.Location // the owner's zone; nil means UTC
	Site      Site
	RequestID string // shown on error pages, so that the owner can find the log line
	NoKeys    bool   // the owner has switched single-key shortcuts off
	Path      string // the request's path and query, for links that come back here
	LiveAt    string // where the event stream was before the page's data was read; "" while nobody asked
}

// Site is what visitors know the place by.
type Site struct {
	Title   string // "Gatehouse" when empty
	Tagline string
	BaseURL string // without a trailing slash; "" leaves absolute links out
	Lang    string // BCP 47; "en" when empty
	Nav     []Link
}

// Link is a word that leads somewhere.
type Link struct {
	Label string
	Href  string
}

type envKey struct{}

// WithEnv returns a context that components render in.
func WithEnv(ctx context.Context, env Env) context.Context {
	return context.WithValue(ctx, envKey{}, env)
}

// WithZone returns a context in which times are shown in the owner's zone.
func WithZone(ctx context.Context, zone *time.Location) context.Context {
	env := EnvFrom(ctx)
	env.Zone = zone
	return WithEnv(ctx, env)
}

// WithKeys returns a context in which the panel listens for single keys, or does not.
func WithKeys(ctx context.Context, on bool) context.Context {
	env := EnvFrom(ctx)
	env.NoKeys = !on
	return WithEnv(ctx, env)
}

// WithLiveAt returns a context in which pages listen to the event stream from position on.
func WithLiveAt(ctx context.Context, position string) context.Context {
	env := EnvFrom(ctx)
	env.LiveAt = position
	return WithEnv(ctx, env)
}

// EnvFrom returns the surroundings with their defaults filled in. Without WithEnv it builds
// a set of assets of its own, which is slow but lets a component be tested alone.
func EnvFrom(ctx context.Context) Env {
	env, _ := ctx.Value(envKey{}).(Env)
	if env.Assets == nil {
		env.Assets = assets.New()
	}
	if env.Zone == nil {
		env.Zone = time.UTC
	}
	if env.Site.Title == "" {
		env.Site.Title = "Gatehouse"
	}
	if env.Site.Lang == "" {
		env.Site.Lang = "en"
	}
	return env
}
