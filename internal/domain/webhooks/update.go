package webhooks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// Ref names an endpoint as the caller saw it.
type Ref struct {
	ID      string `json:"id"`
	Version int64  `json:"version,omitempty" jsonschema:"the version you saw; the call is refused if it has changed since. Left out: not compared"`
}

// UpdateIn changes an endpoint. Fields left out are kept.
type UpdateIn struct {
	ID           string    `json:"id"`
	Version      int64     `json:"version,omitempty" jsonschema:"the version you saw; the call is refused if it has changed since. Left out: not compared"`
	URL          *string   `json:"url,omitempty"`
	Description  *string   `json:"description,omitempty"`
	EventTypes   *[]string `json:"event_types,omitempty"`
	Headers      *[]Header `json:"headers,omitempty" jsonschema:"replaces all extra headers"`
	MaxPerSecond *int      `json:"max_per_second,omitempty"`
}

// Form is an endpoint as its owner edits it: with its whole address and the values of its headers. It goes nowhere else.
type Form struct {
	ID           string
	Version      int64
	URL          string
	Description  string
	EventTypes   []string
	Headers      []Header
	MaxPerSecond int
}

// Form reads an endpoint for its edit form.
func (d *Domain) Form(ctx context.Context, id string) (Form, error) {
	r, err := d.live(ctx, d.DB, Ref{ID: id}, "")
	if err != nil {
		return Form{}, err
	}
	s, err := d.Open(r.ID, r.Sealed)
	if err != nil {
		return Form{}, explainKey(err)
	}
	return Form{ID: r.ID, Version: r.Version, URL: r.URL, Description: r.Description, EventTypes: r.EventTypes,
		Headers: orEmpty(s.Headers), MaxPerSecond: r.MaxPerSecond}, nil
}

// Get reads one endpoint, also a deleted one whose log is still kept.
func (d *Domain) Get(ctx context.Context, in GetIn) (Endpoint, error) {
	r, err := read(ctx, d.DB, in.ID, "")
	if err != nil {
		return Endpoint{}, err
	}
	return d.showOne(ctx, d.DB, r)
}

// GetIn names an endpoint.
type GetIn struct {
	ID string `json:"id"`
}

// live reads an endpoint that is not deleted and still is as the caller saw it.
func (d *Domain) live(ctx context.Context, q pg.Querier, ref Ref, lock string) (row, error) {
	r, err := read(ctx, q, ref.ID, lock)
	switch {
	case err != nil:
		return row{}, err
	case r.DeletedAt != nil:
		return row{}, op.Errorf(op.Conflict, "This endpoint was deleted meanwhile. Its log is still there.")
	case ref.Version != 0 && ref.Version != r.Version:
		return row{}, op.Errorf(op.Conflict, "This endpoint was changed meanwhile: %s. Look at it again before you go on; nothing was changed.", whatChanged(r, ref.Version))
	}
	return r, nil
}

// fieldWords are the fields of an endpoint in the words of its page.
func fieldWords() map[string]string {
	return map[string]string{"url": "address", "description": "description", fieldEventTypes: "event types", "headers": "headers",
		"max_per_second": "requests per second", "secret": "signing secret", "enabled": "whether it is on"}
}

func whatChanged(r row, since int64) string {
	var words []string
	for field, version := range r.Changed {
		if version > since {
			words = append(words, fieldWords()[field])
		}
	}
	if len(words) == 0 {
		return "you saw another version"
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// Update changes what its owner edits. Deliveries on their way use the new values from their next attempt on.
func (d *Domain) Update(ctx context.Context, in UpdateIn) (Endpoint, error) {
	var out Endpoint
	now, err := d.Form(ctx, in.ID)
	if err != nil {
		return out, err
	}
	// Checked before the transaction: the address is looked up in the network.
	was := typed{URL: now.URL, Description: now.Description, EventTypes: now.EventTypes, Headers: now.Headers, MaxPerSecond: now.MaxPerSecond}
	fields, err := d.clean(ctx, in.over(was))
	if err != nil {
		return out, err
	}
	err = pg.InTx(ctx, d.DB, func(tx pg.Tx) error {
		r, err := d.live(ctx, tx, Ref{ID: in.ID, Version: in.Version}, "for update of e")
		if err != nil {
			return err
		}
		if r.Version != now.Version {
			return op.Errorf(op.Conflict, "This endpoint was changed at the same moment: %s. Look at it again before you go on.", whatChanged(r, now.Version))
		}
		changed := differences(was, fields)
		if len(changed) > 0 {
			if err := d.store(ctx, tx, r, fields, changed); err != nil {
				return err
			}
			if err := d.tryAnew(ctx, tx, r, changed); err != nil {
				return err
			}
		}
		out, err = d.reread(ctx, tx, r.ID)
		return err
	})
	return out, err
}

func (in UpdateIn) over(t typed) typed {
	if in.URL != nil {
		t.URL = *in.URL
	}
	if in.Description != nil {
		t.Description = *in.Description
	}
	if in.EventTypes != nil {
		t.EventTypes = *in.EventTypes
	}
	if in.Headers != nil {
		t.Headers = *in.Headers
	}
	if in.MaxPerSecond != nil {
		t.MaxPerSecond = *in.MaxPerSecond
	}
	return t
}

func differences(a, b typed) []string {
	var out []string
	add := func(differs bool, field string) {
		if differs {
			out = append(out, field)
		}
	}
	add(a.URL != b.URL, "url")
	add(a.Description != b.Description, "description")
	add(!slices.Equal(a.EventTypes, b.EventTypes), fieldEventTypes)
	add(!slices.Equal(a.Headers, b.Headers), "headers")
	add(a.MaxPerSecond != b.MaxPerSecond, "max_per_second")
	return out
}

func (d *Domain) store(ctx context.Context, tx pg.Tx, r row, t typed, changed []string) error {
	_, err := tx.Exec(ctx, `
update public.webhook_endpoints set url = $2, description = $3, event_types = $4, max_per_second = $5 where id = $1::uuid`,
		r.ID, t.URL, t.Description, t.EventTypes, t.MaxPerSecond)
	if err != nil {
		return fmt.Errorf("store endpoint: %w", err)
	}
	if slices.Contains(changed, "headers") {
		s, err := d.Open(r.ID, r.Sealed)
		if err != nil {
			return explainKey(err)
		}
		s.Headers = t.Headers
		if err := d.storeSecrets(ctx, tx, r.ID, s); err != nil {
			return err
		}
	}
	return d.touch(ctx, tx, r.ID, changed...)
}

// tryAnew lets a failing endpoint show whether the change has mended it: its oldest retry comes now instead of in hours,
// and its success brings the others. What a receiver at another address asked to wait for is no longer of interest.
func (d *Domain) tryAnew(ctx context.Context, tx pg.Tx, r row, changed []string) error {
	moved := slices.Contains(changed, "url")
	if !r.Enabled || r.FailingSince == nil || !moved && !slices.Contains(changed, "headers") {
		return nil
	}
	if moved {
		if _, err := tx.Exec(ctx, `update public.webhook_endpoint_state set not_before = null where endpoint_id = $1::uuid`, r.ID); err != nil {
			return fmt.Errorf("forget until when endpoint %s was to be left alone: %w", r.ID, err)
		}
	}
	if _, err := d.jobs.With(tx).RescheduleMatching(ctx, jobs.Match{Kind: DeliverKind, Args: map[string]any{"endpoint_id": r.ID}, Limit: 1}, time.Now()); err != nil {
		return fmt.Errorf("bring the oldest retry of endpoint %s forward: %w", r.ID, err)
	}
	return nil
}

// touch gives the endpoint its next version and remembers which fields it changed, then tells the senders.
func (d *Domain) touch(ctx context.Context, tx pg.Tx, id string, fields ...string) error {
	_, err := tx.Exec(ctx, `
update public.webhook_endpoints set version = version + 1, updated_at = clock_timestamp(),
  changed = changed || (select jsonb_object_agg(f, version + 1) from unnest($2::text[]) f)
where id = $1::uuid`, id, fields)
	if err != nil {
		return fmt.Errorf("give endpoint %s its next version: %w", id, err)
	}
	return d.announce(ctx, tx, id)
}

func (d *Domain) reread(ctx context.Context, tx pg.Tx, id string) (Endpoint, error) {
	r, err := read(ctx, tx, id, "")
	if err != nil {
		return Endpoint{}, err
	}
	return d.showOne(ctx, tx, r)
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
