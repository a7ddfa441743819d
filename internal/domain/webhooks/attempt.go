package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// Attempt is one request and what came of it. Texts and headers are the receiver's: shown, never trusted.
type Attempt struct {
	EndpointID       string    `json:"endpoint_id"`
	EventID          string    `json:"event_id"`
	Number           int       `json:"number"`
	Trigger          Trigger   `json:"trigger" jsonschema:"automatic, manual, test or recovery"`
	Actor            string    `json:"actor" jsonschema:"who asked, when somebody did"`
	JobID            jobs.ID   `json:"job_id"`
	StartedAt        time.Time `json:"started_at"`
	Outcome          string    `json:"outcome" jsonschema:"delivered, redirected, snoozed, retryable, gone, rejected, refused or interrupted"`
	Status           int       `json:"status" jsonschema:"HTTP status; 0: there was no answer"`
	ErrorClass       string    `json:"error_class"`
	Error            string    `json:"error"`
	WaitSeconds      int       `json:"wait_seconds" jsonschema:"how long the receiver asked to wait"`
	Location         string    `json:"location" jsonschema:"where a redirect pointed, redacted; it was not followed"`
	DNSMS            float64   `json:"dns_ms"`
	ConnectMS        float64   `json:"connect_ms"`
	TLSMS            float64   `json:"tls_ms"`
	FirstByteMS      float64   `json:"first_byte_ms"`
	TotalMS          float64   `json:"total_ms"`
	Reused           bool      `json:"reused" jsonschema:"an open connection was used"`
	RemoteIP         string    `json:"remote_ip"`
	Headers          []Header  `json:"headers" jsonschema:"of the response, secrets hidden"`
	HeadersTruncated bool      `json:"headers_truncated"`
	Excerpt          string    `json:"excerpt" jsonschema:"beginning of the response's body"`
	ExcerptTruncated bool      `json:"excerpt_truncated"`
	KeyIDs           []string  `json:"key_ids"`
	Late             bool      `json:"late" jsonschema:"another process had taken over by then; the result changed nothing"`
}

// AttemptIn names one attempt.
type AttemptIn struct {
	EndpointID string `json:"endpoint_id"`
	EventID    string `json:"event_id"`
	Number     int    `json:"number"`
}

// Attempt reads one attempt.
func (d *Domain) Attempt(ctx context.Context, in AttemptIn) (Attempt, error) {
	list, err := attempts(ctx, d.DB, in.EndpointID, in.EventID)
	if err != nil {
		return Attempt{}, err
	}
	i := slices.IndexFunc(list, func(a Attempt) bool { return a.Number == in.Number })
	if i < 0 {
		return Attempt{}, op.Errorf(op.NotFound, "There is no such attempt, or no longer: the log is kept for 14 days.")
	}
	return list[i], nil
}

// attempts are those of one delivery, oldest first, at most the last 200.
func attempts(ctx context.Context, q pg.Querier, endpointID, eventID string) ([]Attempt, error) {
	if !pg.ValidUUID(endpointID) || !pg.ValidUUID(eventID) {
		return nil, nil
	}
	rows, err := q.Query(ctx, `
select endpoint_id::text, event_id::text, number, trigger, actor, coalesce(job_id, 0), started_at, outcome, status, error_class, error, wait_seconds,
  location, dns_us / 1000.0::float8, connect_us / 1000.0::float8, tls_us / 1000.0::float8, first_byte_us / 1000.0::float8, total_us / 1000.0::float8,
  reused, remote_ip, coalesce(headers::text, ''), headers_truncated, excerpt, excerpt_truncated, key_ids, late
from public.webhook_attempts where endpoint_id = $1::uuid and event_id = $2::uuid order by number desc limit 200`, endpointID, eventID)
	if err != nil {
		return nil, fmt.Errorf("read attempts: %w", err)
	}
	out, err := pgx.CollectRows(rows, scanAttempt)
	if err != nil {
		return nil, fmt.Errorf("read attempts: %w", err)
	}
	slices.Reverse(out)
	return out, nil
}

func scanAttempt(row pgx.CollectableRow) (a Attempt, err error) {
	var headers string
	err = row.Scan(&a.EndpointID, &a.EventID, &a.Number, &a.Trigger, &a.Actor, &a.JobID, &a.StartedAt, &a.Outcome, &a.Status, &a.ErrorClass, &a.Error,
		&a.WaitSeconds, &a.Location, &a.DNSMS, &a.ConnectMS, &a.TLSMS, &a.FirstByteMS, &a.TotalMS, &a.Reused, &a.RemoteIP, &headers,
		&a.HeadersTruncated, &a.Excerpt, &a.ExcerptTruncated, &a.KeyIDs, &a.Late)
	if err != nil {
		return a, err
	}
	a.KeyIDs, a.Headers = orEmpty(a.KeyIDs), []Header{}
	if headers == "" {
		return a, nil
	}
	var kept http.Header
	if err := json.Unmarshal([]byte(headers), &kept); err != nil {
		return a, fmt.Errorf("read the headers of attempt %d: %w", a.Number, err)
	}
	for name, values := range kept {
		for _, v := range values {
			a.Headers = append(a.Headers, Header{Name: name, Value: v})
		}
	}
	slices.SortFunc(a.Headers, func(x, y Header) int { return strings.Compare(x.Name+x.Value, y.Name+y.Value) })
	return a, nil
}
