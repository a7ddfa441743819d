package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

var (
	// ErrNotFound: there is no such event, or no longer.
	ErrNotFound = errors.New("no such event")
	// ErrBadFilter: a filter's pattern, state or cursor cannot be read; the error's text names it.
	ErrBadFilter = errors.New("events cannot be filtered so")
)

// State is where an event is in its life.
type State string

const (
	Waiting   State = "waiting"   // not fanned out yet
	Delivered State = "delivered" // its jobs exist; how they fare is theirs to tell
	Poisoned  State = "poisoned"  // set aside after repeated faults of its own, until requeued
)

// States lists every state in the order the panel shows them.
func States() []State { return []State{Waiting, Delivered, Poisoned} }

// Words are the states, for the schema of what takes one.
func (State) Words() []string {
	return []string{string(Waiting), string(Delivered), string(Poisoned)}
}

// Entry is an event with what the relay did about it.
type Entry struct {
	Event
	State       State              `json:"state"`
	FannedOutAt *time.Time         `json:"fanned_out_at,omitempty"`
	Fanout      map[string]jobs.ID `json:"fanout"` // subscription → job; several events may share a job
	Faults      int                `json:"faults"`
	RetryAt     *time.Time         `json:"retry_at,omitempty"`
	LastError   string             `json:"last_error"`
	PoisonedAt  *time.Time         `json:"poisoned_at,omitempty"`
}

// Filter selects events for List. Zero values select everything.
type Filter struct {
	Types    []string // globs; one without a star also finds an undeclared type
	Subject  string   // exactly
	State    State
	Cursor   string  // Page.Next of the page before
	AfterSeq int64   // only newer ones, so that "12 new" can be counted
	Seqs     []int64 // these and no others; empty: any
	Limit    int     // 1..100; 0 means 50
}

// Page is one screenful, newest first.
type Page struct {
	Events []Entry `json:"events"`
	Next   string  `json:"next,omitempty"` // cursor; empty on the last page
}

const entryColumns = `id::text, seq, owner_id::text, type, subject, data::text, cause::text, occurred_at,
  fanned_out_at, fanout::text, attempts, retry_at, coalesce(last_error, ''), poisoned_at`

// Get is one event with its fan-out. A malformed id is ErrNotFound too.
func (b *Bus) Get(ctx context.Context, id string) (Entry, error) {
	if !pg.ValidUUID(id) {
		return Entry{}, ErrNotFound
	}
	rows, err := b.cfg.DB.Query(ctx, `select `+entryColumns+` from public.events where id = $1::uuid`, id)
	if err != nil {
		return Entry{}, fmt.Errorf("read event: %w", err)
	}
	e, err := pgx.CollectExactlyOneRow(rows, scanEntry)
	if pg.NoRows(err) {
		return Entry{}, ErrNotFound
	}
	if err != nil {
		return Entry{}, fmt.Errorf("read event: %w", err)
	}
	return e, nil
}

// List is one page of events, newest first.
func (b *Bus) List(ctx context.Context, f Filter) (Page, error) {
	if f.Limit < 0 || f.Limit > 100 {
		return Page{}, fmt.Errorf("%w: limit is 1 to 100", ErrBadFilter)
	}
	if f.Limit == 0 {
		f.Limit = 50
	}
	query, args, err := b.listQuery(ctx, f)
	if err != nil {
		return Page{}, fmt.Errorf("list events: %w", err)
	}
	rows, err := b.cfg.DB.Query(ctx, query, args...)
	if err != nil {
		return Page{}, fmt.Errorf("list events: %w", err)
	}
	p := Page{}
	if p.Events, err = pgx.CollectRows(rows, scanEntry); err != nil {
		return Page{}, fmt.Errorf("list events: %w", err)
	}
	if len(p.Events) > f.Limit {
		p.Events = p.Events[:f.Limit]
		p.Next = strconv.FormatInt(p.Events[f.Limit-1].Seq, 10)
	}
	return p, nil
}

// listQuery asks each state's own index and merges the answers. It reads one
// row more than asked, to know whether there is a next page. Among delivered
// events types are read one by one along their index: a rare type would else
// cost a walk through all of them.
func (b *Bus) listQuery(ctx context.Context, f Filter) (string, []any, error) {
	var args []any
	arg := func(v any) string {
		args = append(args, v)
		return "$" + strconv.Itoa(len(args))
	}
	where := []string{"true"}
	if f.Cursor != "" {
		seq, err := strconv.ParseInt(f.Cursor, 10, 64)
		if err != nil || seq < 0 {
			return "", nil, fmt.Errorf("%w: the cursor is not one of a page before", ErrBadFilter)
		}
		where = append(where, "e.seq < "+arg(seq))
	}
	if f.AfterSeq > 0 {
		where = append(where, "e.seq > "+arg(f.AfterSeq))
	}
	if len(f.Seqs) > 0 {
		where = append(where, "e.seq = any("+arg(f.Seqs)+"::bigint[])")
	}
	if f.Subject != "" {
		subject := arg(strings.ToValidUTF8(strings.ReplaceAll(f.Subject, "\x00", ""), ""))
		where = append(where, "left(e.subject, 200) = left("+subject+", 200) and e.subject = "+subject)
	}
	from, ofType := "", "true"
	if len(f.Types) > 0 {
		names, err := b.typesLike(ctx, f.Types)
		if err != nil {
			return "", nil, err
		}
		list := arg(names) + "::text[]"
		from, ofType = "unnest("+list+") t (name), lateral ", "e.type = any("+list+")"
	}
	tail := " order by e.seq desc limit " + arg(f.Limit+1)
	branch := func(state, ofType string) string {
		return "(select e.* from public.events e where " + state + " and " + ofType + " and " + strings.Join(where, " and ") + tail + ")"
	}
	delivered := branch("fanned_out_at is not null", "true")
	if from != "" {
		delivered = "(select e.* from " + from + branch("fanned_out_at is not null", "e.type = t.name") + " e" + tail + ")"
	}
	branches := map[State]string{Delivered: delivered, Waiting: branch(waiting, ofType),
		Poisoned: branch("poisoned_at is not null and fanned_out_at is null", ofType)}
	all := []string{branches[f.State]}
	if f.State == "" {
		all = []string{branches[Delivered], branches[Waiting], branches[Poisoned]}
	} else if all[0] == "" {
		return "", nil, fmt.Errorf("%w: there is no state %q", ErrBadFilter, f.State)
	}
	return "select " + entryColumns + " from (" + strings.Join(all, " union all ") + ") e" + tail, args, nil
}

// typesLike are the types that globs select: declared ones, those of poisoned
// events, which may be undeclared, and a name that is written out.
func (b *Bus) typesLike(ctx context.Context, globs []string) ([]string, error) {
	rows, err := b.cfg.DB.Query(ctx, `select distinct type from (select type from public.events where poisoned_at is not null limit 10000) p`)
	if err != nil {
		return nil, err
	}
	known, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	for name := range b.registry.types {
		known = append(known, name)
	}
	names := []string{}
	for _, text := range globs {
		g, err := ParseGlob(text)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrBadFilter, err)
		}
		if g.literal() {
			names = append(names, text)
		}
		for _, name := range known {
			if g.Match(name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func scanEntry(row pgx.CollectableRow) (Entry, error) {
	var e Entry
	var data string
	var cause, fanout *string
	err := row.Scan(&e.ID, &e.Seq, &e.OwnerID, &e.Type, &e.Subject, &data, &cause, &e.OccurredAt,
		&e.FannedOutAt, &fanout, &e.Faults, &e.RetryAt, &e.LastError, &e.PoisonedAt)
	if err != nil {
		return e, err
	}
	// A row that cannot be decoded is shown as it is: showing it is how it gets mended.
	_ = e.decode(data, cause)
	if fanout != nil {
		if err := json.Unmarshal([]byte(*fanout), &e.Fanout); err != nil {
			return e, fmt.Errorf("read fan-out of %s: %w", e.ID, err)
		}
	}
	switch {
	case e.PoisonedAt != nil:
		e.State = Poisoned
	case e.FannedOutAt != nil:
		e.State = Delivered
	default:
		e.State = Waiting
	}
	return e, nil
}

// JobFor is the job that a fanned-out event became for a subscription, and
// false when there is none: not fanned out yet, or not wanted.
func (b *Bus) JobFor(ctx context.Context, eventID, subscription string) (jobs.ID, bool, error) {
	var id *int64
	err := b.cfg.DB.QueryRow(ctx, `select (fanout ->> $2)::bigint from public.events where id = $1::uuid`, eventID, subscription).Scan(&id)
	switch {
	case pg.NoRows(err):
		return 0, false, ErrNotFound
	case err != nil:
		return 0, false, fmt.Errorf("look up the task of event %s: %w", eventID, err)
	case id == nil:
		return 0, false, nil
	}
	return jobs.ID(*id), true, nil
}
