package river

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	riverqueue "github.com/riverqueue/river"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
)

// What the adapter takes from the library without a promise of its own: one
// value type for all kinds, registered through a function marked internal.
func TestStringKinds(t *testing.T) {
	t.Parallel()
	workers := riverqueue.NewWorkers()
	for _, name := range []string{"demo.one", "demo.two"} {
		riverqueue.AddWorkerArgs(workers, args{kind: name}, riverqueue.Worker[args](&worker{kind: jobs.Kind{Name: name}}))
	}
	a := args{kind: "demo.one", raw: json.RawMessage(`{"a":1}`)}
	b, err := json.Marshal(a)
	if err != nil || string(b) != `{"a":1}` {
		t.Errorf("marshals to %s, %v", b, err)
	}
	var back args
	if err := json.Unmarshal(b, &back); err != nil || string(back.raw) != string(b) {
		t.Errorf("unmarshals to %s, %v", back.raw, err)
	}
	ctx := context.Background()
	if err := riverqueue.MetadataSet(ctx, "ledger", 1); err == nil {
		t.Error("metadata can be set outside of a worker: the error is no longer a sign")
	}
}

func TestKindsThatCouldOnlyFailLaterAreRefused(t *testing.T) {
	t.Parallel()
	queues := map[string]jobs.Queue{"index": {Name: "index", Workers: 1}}
	good := jobs.Kind{Name: "demo", Queue: "index", Handler: func(context.Context, json.RawMessage) error { return nil }, Policy: jobs.Policy{Attempts: 1, Timeout: time.Second}}
	if err := checkKinds(map[string]jobs.Kind{"demo": good}, queues); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*jobs.Kind){
		"name has 2":     func(k *jobs.Kind) { k.Name = "x" },
		"no spaces":      func(k *jobs.Kind) { k.Name = "a b" },
		"handler":        func(k *jobs.Kind) { k.Handler = nil },
		"attempt":        func(k *jobs.Kind) { k.Policy.Attempts = 0 },
		"no timeout":     func(k *jobs.Kind) { k.Policy.Timeout = -1 },
		"queue \"nope\"": func(k *jobs.Kind) { k.Queue = "nope" },
	} {
		k := good
		change(&k)
		if err := checkKinds(map[string]jobs.Kind{k.Name: k}, queues); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestQueuesMustFitInHalfThePool(t *testing.T) {
	t.Parallel()
	q := jobs.Queues(200) // 14 workers that hold a connection
	need := libraryConns + relayConns
	for _, x := range q {
		if !x.NoConn {
			need += x.Workers
		}
	}
	if err := checkPool(q, int32(2*need)); err != nil {
		t.Errorf("a pool of twice the need: %v", err)
	}
	err := checkPool(q, int32(2*need-1))
	if err == nil || !strings.Contains(err.Error(), "18") && !strings.Contains(err.Error(), "pool is") {
		t.Errorf("a smaller pool: %v", err)
	}
}

func TestLedgerStaysBounded(t *testing.T) {
	t.Parallel()
	var m meta
	for range 500 {
		m.Ledger = m.with(entry{Outcome: outFailed, Error: strings.Repeat("e", maxError), Trace: strings.Repeat("t", maxTrace), Report: json.RawMessage(`"` + strings.Repeat("r", maxReport-2) + `"`)})
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) > maxLedger+(64<<10) {
		t.Errorf("500 failures leave %d bytes", len(b))
	}
	last := m.Ledger[len(m.Ledger)-1]
	if last.Number != 500 || last.Trace == "" || last.Report == nil {
		t.Error("the newest attempt lost something")
	}
	for range 100 {
		m.Ledger = m.with(entry{Outcome: outSnoozed})
	}
	if n := len(m.Ledger); m.Ledger[n-1].Number != 600 || m.Ledger[n-2].Outcome != outFailed {
		t.Errorf("a row of snoozes ends with number %d after %s", m.Ledger[n-1].Number, m.Ledger[n-2].Outcome)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x00b\xff", 10)
	f.Add(strings.Repeat("ü", 100), 7)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = 3 + max(limit, -limit)%5000
		if limit < 3 {
			limit = 3
		}
		got := clean(s, limit)
		if len(got) > limit || !utf8.ValidString(got) || strings.ContainsRune(got, 0) {
			t.Errorf("clean(%q, %d) = %q", s, limit, got)
		}
		if clean(got, limit) != got {
			t.Errorf("cleaning twice changes %q", got)
		}
	})
}

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{`{"b":1,"a":[{"d":null,"c":1e5}]}`, `{"a":"\u0000"}`, `{"a":"\\u0000"}`, `[]`, `null`, `{"n":1e99999}`, `{"a":1,"a":2}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := canonical(json.RawMessage(s))
		if err != nil {
			return
		}
		again, err := canonical(got)
		if err != nil || string(again) != string(got) {
			t.Errorf("%q → %s → %s, %v", s, got, again, err)
		}
		if !json.Valid(got) || got[0] != '{' {
			t.Errorf("%q → %s", s, got)
		}
	})
}

func FuzzReport(f *testing.F) {
	f.Add("x\x00\xff", 3)
	f.Add(`\u0000`, 20000)
	f.Fuzz(func(t *testing.T, s string, n int) {
		b, err := json.Marshal(map[string]string{"body": s + strings.Repeat("r", min(max(n, 0), 1<<16))})
		if err != nil {
			t.Skip()
		}
		got := cleanReport(b)
		if !json.Valid(got) || len(got) > maxReport+1 {
			t.Fatalf("%d bytes, valid %v", len(got), json.Valid(got))
		}
		var v any
		if err := json.Unmarshal(got, &v); err != nil {
			t.Fatal(err)
		}
		if err := storable(v); err != nil {
			t.Errorf("%q: %v", got, err)
		}
	})
}
