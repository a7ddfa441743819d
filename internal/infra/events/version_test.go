package events_test

import (
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
)

// beat is the heartbeat of a process.
func (h *house) beat(role string, registry int64, age string, stopped bool) {
	h.t.Helper()
	h.exec(`insert into processes (id, role, version, registry, lock_key, beat_at, stopped_at)
values (uuid_v7(), $1, 'test', $2, 0, clock_timestamp() - $3::text::interval, case when $4 then clock_timestamp() end)`, role, registry, age, stopped)
}

// During an upgrade no event is fanned out by an old list of subscriptions.
func TestOnlyTheNewestLiveRegistryRelays(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		role    string
		age     string
		stopped bool
		held    bool
	}{
		"a newer process lives":         {"all", "1 second", false, true},
		"a newer worker lives":          {"worker", "9 seconds", false, true},
		"the newer process is dead":     {"all", "11 seconds", false, false},
		"the newer process has stopped": {"all", "1 second", true, false},
		"the newer process only serves": {"web", "1 second", false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			renamed := each()
			renamed.Name = "renamed"
			old, next := h.config(each()), h.config(each(), renamed)
			old.NoRelay, next.NoRelay = true, true
			a, _ := h.start(old)
			b, _ := h.start(next)
			v1, err1 := a.RegistryVersion(t.Context())
			v2, err2 := b.RegistryVersion(t.Context())
			if err1 != nil || err2 != nil || v2 <= v1 || v1 < 1 {
				t.Fatalf("versions %d then %d, errors %v, %v; want the second to be higher", v1, v2, err1, err2)
			}
			h.beat("all", v1, "1 second", false)
			h.beat(test.role, v2, test.age, test.stopped)
			h.insert(1)
			if err := a.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if h.drained() == test.held {
				t.Errorf("the old process relayed: %v, want %v", h.drained(), !test.held)
			}
			if s, err := a.Backlog(t.Context()); err != nil || s.Held != test.held {
				t.Errorf("the old process says held: %v, error %v; want %v", s.Held, err, test.held)
			}
			if err := b.Sweep(t.Context()); err != nil || !h.drained() {
				t.Errorf("the new process relayed: %v, error %v", h.drained(), err)
			}
		})
	}
}

func TestRegistryVersionFollowsTheList(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	version := func(change func(*events.Config)) int64 {
		cfg := h.config(each())
		change(&cfg)
		v, err := h.bus(cfg).RegistryVersion(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	first := version(func(*events.Config) {})
	seen := map[int64]string{first: "the first list"}
	for name, change := range map[string]func(*events.Config){
		"other globs":     func(c *events.Config) { c.Subscriptions[0].Types = []string{"thing.*"} },
		"coalescing":      func(c *events.Config) { c.Subscriptions[0].Coalesce = true },
		"batching":        func(c *events.Config) { c.Subscriptions[0].Handle, c.Subscriptions[0].HandleBatch = nil, ignoreBatch },
		"exposed only":    func(c *events.Config) { c.Subscriptions[0].Exposed = true },
		"one type fewer":  func(c *events.Config) { c.Types = c.Types[:2] },
		"another exposed": func(c *events.Config) { c.Types[2].Exposure = events.Webhook },
	} {
		v := version(change)
		if before, taken := seen[v]; taken {
			t.Errorf("%s has the version %d of %s", name, v, before)
		}
		seen[v] = name
	}
	same := version(func(c *events.Config) {
		c.Subscriptions[0].Title = "another title"
		c.Types[0], c.Types[1] = c.Types[1], c.Types[0]
	})
	if same != first {
		t.Errorf("titles and order changed the version from %d to %d", first, same)
	}
}
