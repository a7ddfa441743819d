package op

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

const (
	// PlanLife is how long a plan can be applied.
	PlanLife = 10 * time.Minute
	// maxPlans is how many plans of one caller are kept; the oldest gives way.
	maxPlans = 200
	// maxPlanned bounds the input that a plan keeps, in bytes.
	maxPlanned = 256 << 10
)

// Plan is what an operation would do, kept until whoever saw it says to do it.
type Plan struct {
	ID string `json:"plan_id"`
	Preview
	ExpiresAt time.Time `json:"expires_at"`
}

// Plans keeps plans in PostgreSQL: one that was made by one process is applied
// by another, and a restart forgets none. A plan belongs to the caller that
// made it (a token, or the owner's browsers), works once and for PlanLife, and
// applies the input as it was frozen. It is safe for concurrent use.
type Plans struct {
	db  pg.Querier
	ops *Set
}

// NewPlans keeps plans of ops in db.
func NewPlans(db pg.Querier, ops *Set) *Plans { return &Plans{db: db, ops: ops} }

var (
	// ErrNoPlan is a Conflict: there is no such plan for this caller and operation.
	ErrNoPlan = Errorf(Conflict, "This plan is unknown, used up or expired: a plan works once, for ten minutes. Look at a new one, then decide.")
	// ErrOtherPlan is a Conflict: the plan is there, and was made for other input.
	ErrOtherPlan = Errorf(Conflict, "This plan was made for other arguments. Repeat those it was made for, or make a new plan.")
)

// Make looks ahead and keeps what it saw. It changes nothing else.
func (p *Plans) Make(ctx context.Context, operation string, in json.RawMessage) (Plan, error) {
	o, ok := p.ops.Get(operation)
	if !ok {
		return Plan{}, fmt.Errorf("plan: there is no operation %q", operation)
	}
	asked, err := spelled(in)
	if err != nil {
		return Plan{}, err
	}
	preview, frozen, err := o.Plan(ctx, json.RawMessage(asked))
	if err != nil {
		return Plan{}, err
	}
	if len(asked)+len(frozen) > maxPlanned {
		return Plan{}, Errorf(TooLarge, "This is too much for one plan: its arguments may have %d bytes. Do it in parts.", maxPlanned/2)
	}
	plan := Plan{ID: "plan_" + rand.Text(), Preview: preview}
	// Rows that somebody else is removing are skipped, so that two makers never wait for each other.
	err = p.db.QueryRow(ctx, `
		with gone as (
			delete from public.plans where id in (
				select id from public.plans
				where expires_at <= clock_timestamp()
				or id in (select id from public.plans where caller = $2 order by expires_at desc, id offset $6)
				for update skip locked))
		insert into public.plans (id, caller, operation, asked, frozen, expires_at)
		values ($1, $2, $3, $4, $5, clock_timestamp() + $7::interval) returning expires_at`,
		plan.ID, callerOf(ctx), operation, asked, string(frozen), maxPlans-1, PlanLife).Scan(&plan.ExpiresAt)
	if err != nil {
		return Plan{}, fmt.Errorf("keep the plan: %w", err)
	}
	return plan, nil
}

// Apply uses a plan up and runs its operation on the frozen input. in is the
// input that the plan was made for, or nil to take the plan's word for it. Of
// two callers at once one gets it. The caller has already checked rights.
func (p *Plans) Apply(ctx context.Context, operation, id string, in json.RawMessage) (any, error) {
	o, ok := p.ops.Get(operation)
	if !ok {
		return nil, fmt.Errorf("apply: there is no operation %q", operation)
	}
	asked := ""
	if in != nil {
		var err error
		if asked, err = spelled(in); err != nil {
			return nil, err
		}
	}
	frozen, err := p.take(ctx, operation, id, asked)
	if err != nil {
		return nil, err
	}
	return o.Run(ctx, frozen)
}

func (p *Plans) take(ctx context.Context, operation, id, asked string) (json.RawMessage, error) {
	const mine = `id = $1 and caller = $2 and operation = $3 and expires_at > clock_timestamp()`
	caller := callerOf(ctx)
	if len(id) > 64 || strings.ContainsRune(id, 0) || !utf8.ValidString(id) { // no text of PostgreSQL
		return nil, ErrNoPlan
	}
	var frozen string
	err := p.db.QueryRow(ctx, `delete from public.plans where `+mine+` and $4 in ('', asked) returning frozen`, id, caller, operation, asked).Scan(&frozen)
	if err == nil {
		return json.RawMessage(frozen), nil
	}
	if !pg.NoRows(err) {
		return nil, fmt.Errorf("take the plan: %w", err)
	}
	var there bool
	if err := p.db.QueryRow(ctx, `select exists (select from public.plans where `+mine+`)`, id, caller, operation).Scan(&there); err != nil {
		return nil, fmt.Errorf("look for the plan: %w", err)
	}
	if there {
		return nil, ErrOtherPlan
	}
	return nil, ErrNoPlan
}

// callerOf says whose plans ctx makes and applies.
func callerOf(ctx context.Context) string {
	if c, ok := CallerFrom(ctx); ok {
		return "token:" + c.Token
	}
	return "owner"
}

// spelled is the input in one spelling: keys sorted, no spaces, numbers as they
// were written.
func spelled(in json.RawMessage) (string, error) {
	if len(bytes.TrimSpace(in)) == 0 {
		return "{}", nil
	}
	d := json.NewDecoder(bytes.NewReader(in))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		return "", Invalidf("", "The arguments must be one JSON object.")
	}
	out, err := json.Marshal(v)
	return string(out), err
}

// Ask makes a plan for a face that has the input as a Go value.
func Ask(ctx context.Context, p *Plans, operation string, in any) (Plan, error) {
	raw, err := json.Marshal(in)
	if err != nil {
		return Plan{}, fmt.Errorf("encode the input of %s: %w", operation, err)
	}
	return p.Make(ctx, operation, raw)
}

// Confirm applies a plan by its id and returns the operation's answer.
func Confirm[O any](ctx context.Context, p *Plans, operation, id string) (O, error) {
	var none O
	answer, err := p.Apply(ctx, operation, id, nil)
	if err != nil {
		return none, err
	}
	out, ok := answer.(O)
	if !ok {
		return none, fmt.Errorf("operation %s answers with %T, not %T", operation, answer, none)
	}
	return out, nil
}
