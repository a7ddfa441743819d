package events

import (
	"context"
	"fmt"
	"sync"
)

type registryVersion struct {
	mu sync.Mutex
	n  int64
}

// RegistryVersion is the number under which the database knows this program's
// list of types and subscriptions; a list not seen before gets the next. The
// heartbeat of a process that relays carries it, and only processes with the
// highest number among live ones relay, so that during an upgrade no event is
// fanned out by an old list. A process of role web carries 0.
func (b *Bus) RegistryVersion(ctx context.Context) (int64, error) {
	b.version.mu.Lock()
	defer b.version.mu.Unlock()
	if b.version.n > 0 {
		return b.version.n, nil
	}
	// The no-op update makes a known list return its number in the same statement, whoever entered it.
	err := b.cfg.DB.QueryRow(ctx, `
insert into public.registries (hash) values ($1)
on conflict (hash) do update set hash = excluded.hash
returning version`, b.registry.hash).Scan(&b.version.n)
	if err != nil {
		return 0, fmt.Errorf("enter the subscription registry: %w", err)
	}
	return b.version.n, nil
}
