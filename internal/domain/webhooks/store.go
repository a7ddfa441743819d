package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/egress"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/seal"
)

// row is an endpoint as it is stored.
type row struct {
	ID, OwnerID, URL, Description string
	EventTypes                    []string
	HeaderNames                   []string
	Sealed                        []byte
	Scheme                        Scheme
	Enabled                       bool
	Reason                        string
	DisabledAt                    *time.Time
	MaxPerSecond                  int
	Version                       int64
	Changed                       map[string]int64
	CreatedAt, UpdatedAt          time.Time
	DeletedAt                     *time.Time
	FailingSince, NotBefore       *time.Time
	now                           time.Time // the database's, when it was read
}

const rowColumns = `e.id::text, e.owner_id::text, e.url, e.description, e.event_types, e.headers::text, e.secrets_enc, e.scheme, e.enabled,
  e.disabled_reason, e.disabled_at, e.max_per_second, e.version, e.changed::text, e.created_at, e.updated_at, e.deleted_at,
  s.failing_since, case when s.not_before > clock_timestamp() then s.not_before end, clock_timestamp()`

const fromEndpoints = ` from public.webhook_endpoints e join public.webhook_endpoint_state s on s.endpoint_id = e.id `

func scanRow(r pgx.CollectableRow) (row, error) {
	var e row
	var headers, changed string
	err := r.Scan(&e.ID, &e.OwnerID, &e.URL, &e.Description, &e.EventTypes, &headers, &e.Sealed, &e.Scheme, &e.Enabled,
		&e.Reason, &e.DisabledAt, &e.MaxPerSecond, &e.Version, &changed, &e.CreatedAt, &e.UpdatedAt, &e.DeletedAt,
		&e.FailingSince, &e.NotBefore, &e.now)
	if err != nil {
		return e, err
	}
	return e, errors.Join(json.Unmarshal([]byte(headers), &e.HeaderNames), json.Unmarshal([]byte(changed), &e.Changed))
}

func readRows(ctx context.Context, q pg.Querier, where string, args ...any) ([]row, error) {
	rows, err := q.Query(ctx, `select `+rowColumns+fromEndpoints+where, args...)
	if err != nil {
		return nil, fmt.Errorf("read endpoints: %w", err)
	}
	out, err := pgx.CollectRows(rows, scanRow)
	if err != nil {
		return nil, fmt.Errorf("read endpoints: %w", err)
	}
	return out, nil
}

var errNoEndpoint = op.Errorf(op.NotFound, "There is no such endpoint.")

// read is one endpoint, also a deleted one.
func read(ctx context.Context, q pg.Querier, id string, lock string) (row, error) {
	if !pg.ValidUUID(id) {
		return row{}, errNoEndpoint
	}
	found, err := readRows(ctx, q, `where e.id = $1::uuid `+lock, id)
	if err != nil {
		return row{}, err
	}
	if len(found) == 0 {
		return row{}, errNoEndpoint
	}
	return found[0], nil
}

// counts are an endpoint's open deliveries by state, each counted up to one past the limit. A test that failed has been
// seen by whoever asked for it, and is not counted.
func counts(ctx context.Context, q pg.Querier, ids []string) (map[string]map[DeliveryState]int, error) {
	rows, err := q.Query(ctx, `
select e.id::text, s.state, (select count(*) from (
  select from public.webhook_deliveries d where d.endpoint_id = e.id and d.state = s.state and d.state <> 'delivered'
    and (d.state <> 'failed' or d.trigger <> 'test') limit $2) c)
from unnest($1::uuid[]) e (id), unnest(array['waiting', 'parked', 'failed']) s (state)`, ids, countLimit+1)
	if err != nil {
		return nil, fmt.Errorf("count deliveries: %w", err)
	}
	out := map[string]map[DeliveryState]int{}
	var id string
	var state DeliveryState
	var n int
	_, err = pgx.ForEachRow(rows, []any{&id, &state, &n}, func() error {
		if out[id] == nil {
			out[id] = map[DeliveryState]int{}
		}
		out[id][state] = n
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count deliveries: %w", err)
	}
	return out, nil
}

// show turns rows into what may be shown, with counts.
func (d *Domain) show(ctx context.Context, q pg.Querier, rows ...row) ([]Endpoint, error) {
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	open, err := counts(ctx, q, ids)
	if err != nil {
		return nil, err
	}
	out := make([]Endpoint, len(rows))
	for i, r := range rows {
		secrets, err := d.Open(r.ID, r.Sealed)
		var lost *seal.WrongKeyError
		if err != nil && !errors.As(err, &lost) { // a lost key is told by Alerts; the list goes on
			return nil, err
		}
		e := Endpoint{
			ID: r.ID, Description: r.Description, URL: egress.Redact(r.URL), EventTypes: r.EventTypes, HeaderNames: r.HeaderNames,
			Scheme: r.Scheme, MaxPerSecond: r.MaxPerSecond, DisabledAt: r.DisabledAt, FailingSince: r.FailingSince, NotBefore: r.NotBefore,
			Waiting: countOf(open[r.ID][Waiting]), Parked: countOf(open[r.ID][Parked]), Failed: countOf(open[r.ID][Failed]),
			Keys: shown(secrets.Keys, r.now), KeyLost: lost != nil, Version: r.Version, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Deleted: r.DeletedAt != nil,
		}
		e.Status, e.Reason = statusOf(r.Enabled, r.Reason, r.FailingSince)
		if e.Status == Failing {
			at := r.FailingSince.Add(DisableAfter)
			e.DisablesAt = &at
		}
		if e.Deleted {
			e.Reason = "You deleted it."
		}
		out[i] = e
	}
	return out, nil
}

func (d *Domain) showOne(ctx context.Context, q pg.Querier, r row) (Endpoint, error) {
	out, err := d.show(ctx, q, r)
	if err != nil {
		return Endpoint{}, err
	}
	return out[0], nil
}

// name is what people know the endpoint by.
func (r row) name() string {
	if r.Description != "" {
		return r.Description
	}
	return egress.Redact(r.URL)
}
