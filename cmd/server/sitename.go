package main

import (
	"context"
	"sync"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/owner"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// siteName knows what the site is called. Every page shows it, so it is read
// from the database at most once in siteNameLife and never holds a page up.
type siteName struct {
	owner   *owner.Domain
	baseURL string

	mu   sync.Mutex
	site ui.Site
	at   time.Time
}

const siteNameLife = 2 * time.Second

func newSiteName(o *owner.Domain, baseURL string) *siteName {
	return &siteName{owner: o, baseURL: baseURL, site: ui.Site{BaseURL: baseURL}}
}

func (s *siteName) read(ctx context.Context) ui.Site {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.at) < siteNameLife {
		return s.site
	}
	s.at = time.Now()
	ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if o, err := s.owner.Owner(ctx); err == nil { // otherwise the name known before
		s.site = ui.Site{Title: o.Title, Tagline: o.Tagline, BaseURL: s.baseURL}
	}
	return s.site
}
