package mcp

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

const (
	planLife = 10 * time.Minute
	maxPlans = 200
)

// plans are what was shown and not yet applied. They live in memory: after a
// restart a plan is unknown and has to be made again, which harms nothing.
type plans struct {
	now  func() time.Time
	mu   sync.Mutex
	kept []keptPlan // oldest first
}

type keptPlan struct {
	id      string
	token   string          // whose it is
	op      string          // what it does
	asked   string          // the arguments as they were given, in one spelling
	frozen  json.RawMessage // the arguments to apply
	expires time.Time
}

// shownPlan is a plan as the caller sees it.
type shownPlan struct {
	PlanID string `json:"plan_id"`
	op.Preview
	ExpiresAt time.Time `json:"expires_at"`
	Next      string    `json:"next"`
}

// keep remembers a plan and returns its id. The oldest gives way when there
// are too many.
func (p *plans) keep(plan keptPlan) keptPlan {
	p.mu.Lock()
	defer p.mu.Unlock()
	plan.id, plan.expires = "plan_"+rand.Text(), p.now().Add(planLife)
	p.kept = slices.DeleteFunc(p.kept, func(k keptPlan) bool { return !k.expires.After(p.now()) })
	if len(p.kept) >= maxPlans {
		p.kept = slices.Delete(p.kept, 0, 1)
	}
	p.kept = append(p.kept, plan)
	return plan
}

var (
	errNoPlan    = op.Errorf(op.NotFound, "This plan is unknown, used up or expired. Call without plan_id to get a new one.")
	errOtherPlan = op.Errorf(op.Conflict, "This plan was made for other arguments. Repeat the arguments of the call that made it, or call without plan_id to get a new plan.")
)

// take uses a plan up and returns the arguments to apply. Of two callers at
// once one gets it.
func (p *plans) take(id, token, operation, asked string) (json.RawMessage, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.kept, func(k keptPlan) bool {
		return k.id == id && k.token == token && k.op == operation && k.expires.After(p.now())
	})
	if i < 0 {
		return nil, errNoPlan
	}
	plan := p.kept[i]
	if asked != "{}" && asked != plan.asked {
		return nil, errOtherPlan
	}
	p.kept = slices.Delete(p.kept, i, i+1)
	return plan.frozen, nil
}

// spelled is the arguments in one spelling: keys sorted, no spaces.
func spelled(fields map[string]json.RawMessage) (string, error) {
	raw, err := json.Marshal(fields)
	if err != nil {
		return "", err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		return "", err
	}
	out, err := json.Marshal(v)
	return string(out), err
}
