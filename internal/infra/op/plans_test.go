package op_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// dropper is an operation that counts what it did, and the plans of two
// processes on one database.
type dropper struct {
	one, other *op.Plans
	dropped    atomic.Int64
	upto       atomic.Int64
}

func newDropper(t *testing.T) *dropper {
	t.Helper()
	d := &dropper{}
	o := op.New("thing.drop", "Drop things", "Drops them.", op.Destructive, func(_ context.Context, in pick) (inner, error) {
		d.dropped.Add(int64(len(in.IDs)))
		d.upto.Store(int64(in.Upto))
		return inner{Names: in.IDs}, nil
	})
	o = op.WithPlan(o, func(_ context.Context, in pick) (op.Preview, pick, error) {
		in.Upto = 7
		return op.Preview{Summary: "Drops all.", Count: len(in.IDs), Sample: in.IDs}, in, nil
	})
	set, err := op.Collect(o)
	if err != nil {
		t.Fatal(err)
	}
	db := pgtest.New(t)
	d.one, d.other = op.NewPlans(db, set), op.NewPlans(db, set)
	return d
}

func as(ctx context.Context, token string) context.Context {
	return op.WithCaller(ctx, op.Caller{Token: token, Classes: op.Classes()})
}

func TestPlanIsMadeByOneProcessAndAppliedByAnother(t *testing.T) {
	t.Parallel()
	d := newDropper(t)
	plan, err := op.Ask(t.Context(), d.one, "thing.drop", pick{IDs: []string{"a", "b"}})
	if err != nil || plan.Count != 2 || plan.ExpiresAt.IsZero() || d.dropped.Load() != 0 {
		t.Fatalf("%+v, %v, %d dropped", plan, err, d.dropped.Load())
	}
	out, err := op.Confirm[inner](t.Context(), d.other, "thing.drop", plan.ID)
	if err != nil || len(out.Names) != 2 || d.upto.Load() != 7 {
		t.Errorf("%+v %v, frozen at %d", out, err, d.upto.Load())
	}
	if _, err := op.Confirm[inner](t.Context(), d.one, "thing.drop", plan.ID); op.CodeOf(err) != op.Conflict || d.dropped.Load() != 2 {
		t.Errorf("a plan works twice: %v, %d dropped", err, d.dropped.Load())
	}
}

func TestPlanIsItsCallersOwn(t *testing.T) {
	t.Parallel()
	d := newDropper(t)
	mine := as(t.Context(), "mine")
	asked := json.RawMessage(`{"ids":["a"], "upto": 1}`)
	plan, err := d.one.Make(mine, "thing.drop", asked)
	if err != nil {
		t.Fatal(err)
	}
	for who, try := range map[string]func() (any, error){
		"another token": func() (any, error) { return d.one.Apply(as(t.Context(), "other"), "thing.drop", plan.ID, asked) },
		"the owner":     func() (any, error) { return d.one.Apply(t.Context(), "thing.drop", plan.ID, asked) },
		"a guess":       func() (any, error) { return d.one.Apply(mine, "thing.drop", "plan_guess", asked) },
		"nothing":       func() (any, error) { return d.one.Apply(mine, "thing.drop", "", nil) },
		"a zero byte":   func() (any, error) { return d.one.Apply(mine, "thing.drop", "plan_a\x00", nil) },
		"other arguments": func() (any, error) {
			return d.one.Apply(mine, "thing.drop", plan.ID, json.RawMessage(`{"ids":["b"],"upto":1}`))
		},
	} {
		if _, err := try(); op.CodeOf(err) != op.Conflict {
			t.Errorf("%s: %v", who, err)
		}
	}
	if d.dropped.Load() != 0 {
		t.Fatalf("%d were dropped", d.dropped.Load())
	}
	if _, err := d.one.Apply(mine, "thing.drop", plan.ID, json.RawMessage(` {"upto":1,"ids":["a"]}`)); err != nil || d.dropped.Load() != 1 {
		t.Errorf("the same arguments, spelled otherwise: %v", err)
	}
}

func TestOneOfManyGetsThePlan(t *testing.T) {
	t.Parallel()
	d := newDropper(t)
	plan, err := op.Ask(t.Context(), d.one, "thing.drop", pick{IDs: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	var got atomic.Int64
	var crowd sync.WaitGroup
	for i := range 8 {
		crowd.Go(func() {
			plans := d.one
			if i%2 == 1 {
				plans = d.other
			}
			if _, err := plans.Apply(t.Context(), "thing.drop", plan.ID, nil); err == nil {
				got.Add(1)
			} else if op.CodeOf(err) != op.Conflict {
				t.Error(err)
			}
		})
	}
	crowd.Wait()
	if got.Load() != 1 || d.dropped.Load() != 1 {
		t.Errorf("%d got it, %d dropped", got.Load(), d.dropped.Load())
	}
}

func TestPlansAreFewAndGrowOld(t *testing.T) {
	t.Parallel()
	d := newDropper(t)
	db := pgtest.New(t)
	set, err := op.Collect(op.New("thing.drop", "Drop things", "Drops them.", op.Destructive, func(context.Context, pick) (inner, error) { return inner{}, nil }))
	if err != nil {
		t.Fatal(err)
	}
	plans := op.NewPlans(db, set)
	make1 := func(ctx context.Context) string {
		t.Helper()
		plan, err := op.Ask(ctx, plans, "thing.drop", pick{IDs: []string{"a"}})
		if err != nil {
			t.Fatal(err)
		}
		return plan.ID
	}
	count := func() (n int) {
		t.Helper()
		if err := db.QueryRow(t.Context(), `select count(*) from plans`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	foreign := make1(as(t.Context(), "other"))
	first := make1(t.Context())
	for range 210 {
		make1(t.Context())
	}
	if n := count(); n != 201 {
		t.Errorf("%d plans are kept", n)
	}
	if _, err := plans.Apply(t.Context(), "thing.drop", first, nil); op.CodeOf(err) != op.Conflict {
		t.Errorf("the oldest did not give way: %v", err)
	}
	if _, err := plans.Apply(as(t.Context(), "other"), "thing.drop", foreign, nil); err != nil {
		t.Errorf("another caller's plan gave way: %v", err)
	}
	last := make1(t.Context())
	if _, err := db.Exec(t.Context(), `update plans set expires_at = clock_timestamp()`); err != nil {
		t.Fatal(err)
	}
	if _, err := plans.Apply(t.Context(), "thing.drop", last, nil); op.CodeOf(err) != op.Conflict || !strings.Contains(err.Error(), "expired") {
		t.Errorf("an old plan: %v", err)
	}
	make1(t.Context())
	if n := count(); n != 1 {
		t.Errorf("%d plans are left when the old ones are gone", n)
	}
	if _, err := op.Ask(t.Context(), d.one, "thing.drop", pick{IDs: []string{strings.Repeat("a", 300<<10)}}); op.CodeOf(err) != op.TooLarge {
		t.Errorf("a plan of any size: %v", err)
	}
}
