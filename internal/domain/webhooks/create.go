package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// CreateIn is a new endpoint.
type CreateIn struct {
	URL          string   `json:"url" jsonschema:"https address of the receiver; http only where the operator allows it"`
	Description  string   `json:"description,omitempty"`
	EventTypes   []string `json:"event_types" jsonschema:"patterns of event types: * within a segment, ** across, such as corpus.**"`
	Headers      []Header `json:"headers,omitempty" jsonschema:"extra headers of every request"`
	MaxPerSecond int      `json:"max_per_second,omitempty" jsonschema:"at most so many requests a second; 0: no limit"`
	Scheme       Scheme   `json:"scheme,omitempty" jsonschema:"hmac (default) or ed25519"`
}

// Created is an endpoint with what is shown this one time: its new secret, or its public key.
type Created struct {
	Endpoint Endpoint `json:"endpoint"`
	Secret   string   `json:"secret,omitempty" jsonschema:"whsec_…; it is shown this once"`
	Public   string   `json:"public,omitempty" jsonschema:"whpk_…, for ed25519"`
}

func created(e Endpoint, k SealedKey) Created {
	if k.Scheme == Ed25519 {
		return Created{Endpoint: e, Public: k.Public}
	}
	return Created{Endpoint: e, Secret: k.Private}
}

// Create adds an endpoint, switched on. Events from its creation on are sent to it.
func (d *Domain) Create(ctx context.Context, in CreateIn) (Created, error) {
	fields, err := d.clean(ctx, typed{URL: in.URL, Description: in.Description, EventTypes: in.EventTypes, Headers: in.Headers, MaxPerSecond: in.MaxPerSecond})
	scheme, schemeErr := checkScheme(in.Scheme)
	if err := errors.Join(err, schemeErr); err != nil {
		return Created{}, err
	}
	var out Created
	err = pg.InTx(ctx, d.DB, func(tx pg.Tx) error {
		id, err := insertEndpoint(ctx, tx, fields, scheme)
		if err != nil {
			return err
		}
		now, err := pg.Now(ctx, tx)
		if err != nil {
			return err
		}
		key := d.newKey(scheme, now)
		if err := d.storeSecrets(ctx, tx, id, Secrets{Keys: []SealedKey{key}, Headers: fields.Headers}); err != nil {
			return err
		}
		r, err := read(ctx, tx, id, "")
		if err != nil {
			return err
		}
		e, err := d.showOne(ctx, tx, r)
		if err != nil {
			return err
		}
		out = created(e, key)
		return d.announce(ctx, tx, id)
	})
	return out, err
}

func insertEndpoint(ctx context.Context, tx pg.Tx, in typed, scheme Scheme) (id string, err error) {
	err = tx.QueryRow(ctx, `
insert into public.webhook_endpoints (owner_id, url, description, event_types, max_per_second, scheme)
select (select id from public.owners order by created_at limit 1), $1, $2, $3, $4, $5
where (select count(*) from public.webhook_endpoints where deleted_at is null) < $6
returning id::text`, in.URL, in.Description, in.EventTypes, in.MaxPerSecond, scheme, MaxEndpoints).Scan(&id)
	if pg.NoRows(err) {
		return "", op.Errorf(op.Conflict, "There are %d endpoints already, which is the most. Delete one first.", MaxEndpoints)
	}
	if err != nil {
		return "", fmt.Errorf("insert endpoint: %w", err)
	}
	if _, err = tx.Exec(ctx, `insert into public.webhook_endpoint_state (endpoint_id) values ($1::uuid)`, id); err != nil {
		return "", fmt.Errorf("insert endpoint's state: %w", err)
	}
	return id, nil
}

func (d *Domain) storeSecrets(ctx context.Context, q pg.Querier, id string, s Secrets) error {
	sealed, err := d.seal(id, s)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(s.Headers))
	for _, h := range s.Headers {
		names = append(names, h.Name)
	}
	raw, err := json.Marshal(names)
	if err != nil {
		return fmt.Errorf("write header names: %w", err)
	}
	if _, err := q.Exec(ctx, `update public.webhook_endpoints set secrets_enc = $2, headers = $3::jsonb where id = $1::uuid`, id, sealed, string(raw)); err != nil {
		return fmt.Errorf("store secrets: %w", err)
	}
	return nil
}
