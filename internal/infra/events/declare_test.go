package events_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

func TestBootRefusesWrongDeclarations(t *testing.T) {
	t.Parallel()
	one := func(change func(*events.Subscription)) []events.Subscription {
		s := each()
		change(&s)
		return []events.Subscription{s}
	}
	tests := map[string]struct {
		types []events.Type
		subs  []events.Subscription
		want  string
	}{
		"glob without a type":     {types(), one(func(s *events.Subscription) { s.Types = []string{"thing.*", "note.*"} }), "note.* matches no declared type"},
		"exposed glob, internal":  {types(), one(func(s *events.Subscription) { s.Types, s.Exposed = []string{"secret.*"}, true }), "secret.* matches no declared type"},
		"no glob":                 {types(), one(func(s *events.Subscription) { s.Types = nil }), "selects no types"},
		"unreadable glob":         {types(), one(func(s *events.Subscription) { s.Types = []string{"thing.[a"} }), "is not a pattern"},
		"no handler":              {types(), one(func(s *events.Subscription) { s.Handle = nil }), "exactly one of Handle and HandleBatch"},
		"two handlers":            {types(), one(func(s *events.Subscription) { s.HandleBatch = ignoreBatch }), "exactly one of Handle and HandleBatch"},
		"a batch that coalesces":  {types(), one(func(s *events.Subscription) { s.Handle, s.HandleBatch, s.Coalesce = nil, ignoreBatch, true }), "batching merges nothing"},
		"subscription name":       {types(), one(func(s *events.Subscription) { s.Name = "a b" }), "a name is segments"},
		"subscription twice":      {types(), []events.Subscription{each(), each()}, "each is declared twice"},
		"type twice":              {append(types(), types()[0]), nil, "thing.made is declared twice"},
		"type name":               {[]events.Type{{Name: "Thing", Example: json.RawMessage(`{}`)}}, nil, "a name is segments"},
		"no example":              {[]events.Type{{Name: "thing.made"}}, nil, "example is not a JSON object"},
		"example of another kind": {[]events.Type{{Name: "thing.made", Example: json.RawMessage(`[1]`)}}, nil, "example is not a JSON object"},
		"broken example":          {[]events.Type{{Name: "thing.made", Example: json.RawMessage(`{"a":`)}}, nil, "example is not a JSON object"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := events.NewBus(events.Config{DB: &pg.DB{}, Bell: events.NewBell(), Types: test.types, Subscriptions: test.subs})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error that says %q", err, test.want)
			}
		})
	}
	if _, err := events.NewBus(events.Config{DB: &pg.DB{}, Bell: events.NewBell(), Types: types(), Subscriptions: []events.Subscription{each()}}); err != nil {
		t.Errorf("right declarations: %v", err)
	}
}

func TestGlob(t *testing.T) {
	t.Parallel()
	tests := []struct {
		glob, name string
		want       bool
	}{
		{"code.*", "code.issued", true},
		{"code.*", "code.issued.twice", false},
		{"code.*", "decode.issued", false},
		{"code.*", "code", false},
		{"corpus.**", "corpus.note.changed", true},
		{"corpus.**", "corpusnote.changed", false},
		{"**", "corpus.note.changed", true},
		{"*.changed", "note.changed", true},
		{"*.changed", "corpus.note.changed", false},
		{"**.changed", "corpus.note.changed", true},
		{"access_request.status_*", "access_request.status_changed", true},
		{"corpus.note.changed", "corpus.note.changed", true},
		{"corpus.note.changed", "corpusXnoteXchanged", false},
	}
	for _, test := range tests {
		g, err := events.ParseGlob(test.glob)
		if err != nil {
			t.Fatalf("%s: %v", test.glob, err)
		}
		if got := g.Match(test.name); got != test.want {
			t.Errorf("%s matches %s: got %v, want %v", test.glob, test.name, got, test.want)
		}
	}
	for _, bad := range []string{"", ".", "a.", ".a", "a..b", "A.b", "a b", "a.[b]", "a.?", "***", "a.****", strings.Repeat("a", 101)} {
		if _, err := events.ParseGlob(bad); err == nil {
			t.Errorf("%q is taken for a pattern", bad)
		}
	}
}

func FuzzGlob(f *testing.F) {
	for _, s := range []string{"**", "code.*", "corpus.note.changed", "a.[", "*.*.*"} {
		f.Add(s, "corpus.note.changed")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		g, err := events.ParseGlob(text)
		if err != nil {
			return
		}
		if g.String() != text {
			t.Errorf("%q reads back as %q", text, g.String())
		}
		if !strings.Contains(text, "*") && g.Match(name) != (text == name) {
			t.Errorf("%q without a star matches %q: %v", text, name, g.Match(name))
		}
		if !g.Match(strings.ReplaceAll(text, "*", "x")) {
			t.Errorf("%q does not match what it stands for", text)
		}
	})
}
