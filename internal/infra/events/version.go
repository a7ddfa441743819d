package events

import (
	"context"
	"fmt"
)

// RegistryVersion is the number under which the database knows this program's
// list of types and subscriptions; a list not seen before gets the next. The
// heartbeat of a process that relays carries it, and only processes with the
// highest number among live ones relay, so that during an upgrade no event is
// fanned out by an old list. A process of role web carries 0.
func (b *Bus) RegistryVersion(ctx context.Context) (int64, error) {
	if v := b.version.Load(); v > 0 {
		return v, nil
	}
	var v int64
	// The no-op update makes a known list return its number in the same statement, whoever entered it.
	err := b.cfg.DB.QueryRow(ctx, `
insert into public.registries (hash) values ($1)
on conflict (hash) do update set hash = excluded.hash
returning version`, b.registry.hash).Scan(&v)
	if err != nil {
		return 0, fmt.Errorf("enter the subscription registry: %w", err)
	}
	b.version.Store(v)
	return v, nil
}

// Registry is RegistryVersion for the heartbeat: 0 until Start has entered the
// list, and in a process that does not relay.
func (b *Bus) Registry() int64 {
	if b.cfg.NoRelay {
		return 0
	}
	return b.version.Load()
}
