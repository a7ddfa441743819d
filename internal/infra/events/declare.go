package events

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// registry is the checked list of types and subscriptions of this program.
type registry struct {
	types map[string]Type
	subs  []subscription // in name order
	hash  string
}

type subscription struct {
	Subscription
	wants map[string]bool // declared types its globs select
}

func (s subscription) batched() bool { return s.HandleBatch != nil }

var (
	typeName         = regexp.MustCompile(`^[a-z0-9_]+(\.[a-z0-9_]+)+$`)
	subscriptionName = regexp.MustCompile(`^[a-z0-9_]+(\.[a-z0-9_]+)*$`)
)

// newRegistry checks everything at once, so that one boot names every mistake.
func newRegistry(types []Type, subs []Subscription) (*registry, error) {
	r := &registry{types: map[string]Type{}}
	var problems []error
	for _, t := range types {
		problems = append(problems, r.declare(t))
	}
	for _, s := range subs {
		problems = append(problems, r.subscribe(s))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("event declarations: %w", err)
	}
	slices.SortFunc(r.subs, func(a, b subscription) int { return strings.Compare(a.Name, b.Name) })
	r.hash = r.fingerprint()
	return r, nil
}

func (r *registry) declare(t Type) error {
	_, twice := r.types[t.Name]
	r.types[t.Name] = t
	switch {
	case !typeName.MatchString(t.Name):
		return fmt.Errorf("type %q: a name is segments of a-z, 0-9 and _ joined by dots", t.Name)
	case twice:
		return fmt.Errorf("type %s is declared twice", t.Name)
	case !json.Valid(t.Example) || !isObject(t.Example):
		return fmt.Errorf("type %s: its example is not a JSON object", t.Name)
	}
	return nil
}

func (r *registry) subscribe(s Subscription) error {
	switch {
	case !subscriptionName.MatchString(s.Name) || len(s.Name) < 2:
		return fmt.Errorf("subscription %q: a name is segments of a-z, 0-9 and _ joined by dots", s.Name)
	case slices.ContainsFunc(r.subs, func(o subscription) bool { return o.Name == s.Name }):
		return fmt.Errorf("subscription %s is declared twice", s.Name)
	case (s.Handle == nil) == (s.HandleBatch == nil):
		return fmt.Errorf("subscription %s: exactly one of Handle and HandleBatch is set", s.Name)
	case s.Coalesce && s.HandleBatch != nil:
		return fmt.Errorf("subscription %s: batching merges nothing, so it cannot coalesce", s.Name)
	case len(s.Types) == 0:
		return fmt.Errorf("subscription %s selects no types", s.Name)
	}
	wants := map[string]bool{}
	for _, text := range s.Types {
		g, err := ParseGlob(text)
		if err != nil {
			return fmt.Errorf("subscription %s: %w", s.Name, err)
		}
		matched := false
		for name, t := range r.types {
			if g.Match(name) && (!s.Exposed || t.Exposure == Webhook) {
				wants[name], matched = true, true
			}
		}
		if !matched {
			return fmt.Errorf("subscription %s: %s matches no declared type it may have", s.Name, text)
		}
	}
	r.subs = append(r.subs, subscription{Subscription: s, wants: wants})
	return nil
}

// fingerprint changes whenever another list would fan an event out differently,
// which includes the types: one that is not declared is a fault of its row.
func (r *registry) fingerprint() string {
	type entry struct {
		Name                     string
		Types                    []string
		Exposed, Coalesce, Batch bool
	}
	var list struct {
		Types []string
		Subs  []entry
	}
	for name, t := range r.types {
		list.Types = append(list.Types, fmt.Sprintf("%s %d", name, t.Exposure))
	}
	slices.Sort(list.Types)
	for _, s := range r.subs {
		list.Subs = append(list.Subs, entry{s.Name, s.Types, s.Exposed, s.Coalesce, s.batched()})
	}
	b, err := json.Marshal(list)
	if err != nil { // strings and booleans always marshal
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func (r *registry) typeList() []Type {
	list := make([]Type, 0, len(r.types))
	for _, t := range r.types {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b Type) int { return strings.Compare(a.Name, b.Name) })
	return list
}
