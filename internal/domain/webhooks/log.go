package webhooks

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// Delivery is what one endpoint was owed of one event, and what became of it.
type Delivery struct {
	EndpointID  string        `json:"endpoint_id"`
	EventID     string        `json:"event_id"`
	EventType   string        `json:"event_type" jsonschema:"empty once the event itself was pruned"`
	Subject     string        `json:"subject"`
	State       DeliveryState `json:"state"`
	Attempts    int           `json:"attempts"`
	LastStatus  int           `json:"last_status" jsonschema:"HTTP status of the last attempt; 0: none or no answer"`
	LastError   string        `json:"last_error"`
	Trigger     Trigger       `json:"trigger"`
	JobID       jobs.ID       `json:"job_id" jsonschema:"task of the last attempt; 0: none yet"`
	CreatedAt   time.Time     `json:"created_at"`
	SettledAt   *time.Time    `json:"settled_at,omitempty"`
	EventPruned bool          `json:"event_pruned"`
}

// DeliveriesIn selects deliveries. Fields left out select everything.
type DeliveriesIn struct {
	EndpointID string    `json:"endpoint_id,omitempty"`
	States     []string  `json:"states,omitempty" jsonschema:"waiting, delivered, failed, parked, dropped, cancelled"`
	Type       string    `json:"type,omitempty" jsonschema:"pattern of event types"`
	Since      time.Time `json:"since,omitzero" jsonschema:"events of that time and later"`
	Cursor     string    `json:"cursor,omitempty"`
	Limit      int       `json:"limit,omitempty" jsonschema:"1 to 100; 50 when left out"`
}

// DeliveriesOut is one screenful of the log, newest event first.
type DeliveriesOut struct {
	Deliveries []Delivery `json:"deliveries"`
	Next       string     `json:"next,omitempty" jsonschema:"cursor of the next page; absent on the last one"`
}

type logCursor struct {
	Event    string `json:"e"`
	Endpoint string `json:"p"`
}

func (c logCursor) String() string {
	raw, err := json.Marshal(c)
	if err != nil { // two strings always marshal
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

func readLogCursor(text string) (c logCursor, err error) {
	if text == "" {
		return logCursor{Event: "ffffffff-ffff-ffff-ffff-ffffffffffff", Endpoint: "ffffffff-ffff-ffff-ffff-ffffffffffff"}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	if err != nil || !pg.ValidUUID(c.Event) || !pg.ValidUUID(c.Endpoint) {
		return c, op.Invalidf("cursor", "This is no cursor of this list. Start again without it.")
	}
	return c, nil
}

func (in *DeliveriesIn) check() error {
	var errs []error
	if in.Limit == 0 {
		in.Limit = 50
	}
	if in.Limit < 1 || in.Limit > 100 {
		errs = append(errs, op.Invalidf("limit", "Choose 1 to 100."))
	}
	if in.EndpointID != "" && !pg.ValidUUID(in.EndpointID) {
		errs = append(errs, errNoEndpoint)
	}
	// PostgreSQL stores no text with either, so no event can have such a type.
	if strings.ContainsRune(in.Type, 0) || !utf8.ValidString(in.Type) {
		errs = append(errs, op.Invalidf("type", "This is no pattern of event types."))
	}
	for _, s := range in.States {
		if !slices.Contains(DeliveryStates(), DeliveryState(s)) {
			errs = append(errs, op.Invalidf("states", "%q is not a state of a delivery.", s))
		}
	}
	return errors.Join(errs...)
}

const deliveryColumns = `d.endpoint_id::text, d.event_id::text, coalesce(ev.type, ''), coalesce(ev.subject, ''), d.state, d.attempts, d.last_status,
  d.last_error, d.trigger, coalesce(d.job_id, 0), d.created_at, d.settled_at, ev.id is null`

func scanDelivery(row pgx.CollectableRow) (d Delivery, err error) {
	err = row.Scan(&d.EndpointID, &d.EventID, &d.EventType, &d.Subject, &d.State, &d.Attempts, &d.LastStatus, &d.LastError, &d.Trigger,
		&d.JobID, &d.CreatedAt, &d.SettledAt, &d.EventPruned)
	return d, err
}

// Deliveries pages through the log: one short walk down the key of each endpoint, merged.
func (d *Domain) Deliveries(ctx context.Context, in DeliveriesIn) (DeliveriesOut, error) {
	out := DeliveriesOut{Deliveries: []Delivery{}}
	c, err := readLogCursor(in.Cursor)
	if err := errors.Join(in.check(), err); err != nil {
		return out, err
	}
	where, args := "", []any{in.EndpointID, c.Event, c.Endpoint, in.Limit + 1}
	if len(in.States) > 0 {
		args = append(args, in.States)
		where += fmt.Sprintf(" and d.state = any($%d)", len(args))
	}
	if in.Type != "" {
		names := d.MatchTypes([]string{in.Type})
		args = append(args, append(names, in.Type))
		where += fmt.Sprintf(" and ev.type = any($%d)", len(args))
	}
	if !in.Since.IsZero() {
		args = append(args, firstID(in.Since))
		where += fmt.Sprintf(" and d.event_id >= $%d::uuid", len(args))
	}
	rows, err := d.DB.Query(ctx, `
select l.* from public.webhook_endpoints e cross join lateral (
  select `+deliveryColumns+` from public.webhook_deliveries d left join public.events ev on ev.id = d.event_id
  where d.endpoint_id = e.id and (d.event_id, d.endpoint_id) < ($2::uuid, $3::uuid)`+where+`
  order by d.event_id desc limit $4) l
where $1 = '' or e.id = nullif($1, '')::uuid
order by 2 desc, 1 desc limit $4`, args...)
	if err != nil {
		return out, fmt.Errorf("list deliveries: %w", err)
	}
	list, err := pgx.CollectRows(rows, scanDelivery)
	if err != nil {
		return out, fmt.Errorf("list deliveries: %w", err)
	}
	if len(list) > in.Limit {
		list = list[:in.Limit]
		last := list[in.Limit-1]
		out.Next = logCursor{Event: last.EventID, Endpoint: last.EndpointID}.String()
	}
	out.Deliveries = append(out.Deliveries, list...)
	return out, nil
}

// AtPresent reads deliveries of one endpoint as they are at present, newest event first; those whose row is gone are left out.
func (d *Domain) AtPresent(ctx context.Context, endpointID string, eventIDs []string) ([]Delivery, error) {
	if !pg.ValidUUID(endpointID) {
		return nil, errNoEndpoint
	}
	rows, err := d.DB.Query(ctx, `
select `+deliveryColumns+` from public.webhook_deliveries d left join public.events ev on ev.id = d.event_id
where d.endpoint_id = $1::uuid and d.event_id = any($2::uuid[]) order by d.event_id desc`, endpointID, eventIDs)
	if err != nil {
		return nil, fmt.Errorf("read deliveries: %w", err)
	}
	list, err := pgx.CollectRows(rows, scanDelivery)
	if err != nil {
		return nil, fmt.Errorf("read deliveries: %w", err)
	}
	return list, nil
}

var errNoDelivery = op.Errorf(op.NotFound, "There is no such delivery, or no longer: the log is kept for 14 days.")

// DeliveryDetail is one delivery with everything there is to know.
type DeliveryDetail struct {
	Delivery
	Endpoint     Endpoint  `json:"endpoint"`
	AttemptsMade []Attempt `json:"attempts_made" jsonschema:"oldest first"`
	Body         string    `json:"body" jsonschema:"the exact bytes that are signed and sent; empty once the event was pruned"`
	Curl         string    `json:"curl" jsonschema:"the request as a command; secrets and header values are left to be filled in"`
	CanRedeliver bool      `json:"can_redeliver"`
}

// Delivery reads one delivery.
func (d *Domain) Delivery(ctx context.Context, endpointID, eventID string) (DeliveryDetail, error) {
	var out DeliveryDetail
	if !pg.ValidUUID(endpointID) || !pg.ValidUUID(eventID) {
		return out, errNoDelivery
	}
	rows, err := d.DB.Query(ctx, `select `+deliveryColumns+` from public.webhook_deliveries d left join public.events ev on ev.id = d.event_id
where d.endpoint_id = $1::uuid and d.event_id = $2::uuid`, endpointID, eventID)
	if err != nil {
		return out, fmt.Errorf("read delivery: %w", err)
	}
	out.Delivery, err = pgx.CollectExactlyOneRow(rows, scanDelivery)
	if pg.NoRows(err) {
		return out, errNoDelivery
	}
	if err != nil {
		return out, fmt.Errorf("read delivery: %w", err)
	}
	if out.Endpoint, err = d.Get(ctx, GetIn{ID: endpointID}); err != nil {
		return out, err
	}
	if out.AttemptsMade, err = attempts(ctx, d.DB, endpointID, eventID); err != nil {
		return out, err
	}
	out.AttemptsMade = orEmpty(out.AttemptsMade)
	if !out.EventPruned {
		if out.Body, err = d.body(ctx, eventID); err != nil {
			return out, err
		}
		out.Curl = curl(out.Endpoint, eventID, out.Body)
	}
	out.CanRedeliver = !out.EventPruned && out.Trigger != Test && (out.Endpoint.Status == On || out.Endpoint.Status == Failing)
	return out, nil
}

// body is what is signed and sent of an event; one that does not fit has none.
func (d *Domain) body(ctx context.Context, eventID string) (string, error) {
	e, err := d.event(ctx, eventID)
	if err != nil {
		return "", fmt.Errorf("read event %s: %w", eventID, err)
	}
	raw, err := d.Wire.Body(e)
	if err != nil {
		return "", nil
	}
	return string(raw), nil
}

// curl writes a request that anyone may copy: the secret, the address and the values of headers come from the shell.
func curl(e Endpoint, eventID, body string) string {
	quoted := "'" + strings.ReplaceAll(body, "'", `'\''`) + "'"
	lines := []string{
		"URL='' # the endpoint's whole address: " + e.URL,
		"SECRET='' # its signing secret, whsec_…",
		"BODY=" + quoted,
		"NOW=$(date +%s)",
		`KEY=$(printf %s "${SECRET#whsec_}" | base64 -d | od -An -vtx1 | tr -d ' \n')`,
		`SIGNATURE=$(printf %s "` + eventID + `.$NOW.$BODY" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$KEY" -binary | base64)`,
		`curl -sS -X POST "$URL" \`,
		`  -H 'content-type: application/json' \`,
		`  -H 'webhook-id: ` + eventID + `' \`,
		`  -H "webhook-timestamp: $NOW" \`,
		`  -H "webhook-signature: v1,$SIGNATURE" \`,
	}
	if e.Scheme == Ed25519 {
		lines = slices.DeleteFunc(lines, func(l string) bool {
			return strings.HasPrefix(l, "SECRET=") || strings.HasPrefix(l, "KEY=") || strings.HasPrefix(l, "SIGNATURE=") || strings.Contains(l, "webhook-signature")
		})
	}
	for _, name := range e.HeaderNames {
		lines = append(lines, `  -H '`+name+`: …' \`)
	}
	return strings.Join(append(lines, `  --data-binary "$BODY"`), "\n")
}
