package tasks

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// filter is what the address of the list says.
type filter struct {
	state, kind, text, failure string
	place                      ui.Place
}

func filterOf(v url.Values) filter {
	return filter{state: v.Get("state"), kind: v.Get("kind"), text: v.Get("q"), failure: v.Get("error"), place: ui.Place{Cursor: v.Get("cursor"), Trail: v.Get("trail")}}
}

func readFilter(r *http.Request) filter { return filterOf(r.URL.Query()) }

func (f filter) values() url.Values {
	v := url.Values{}
	for _, p := range []struct{ name, value string }{{"state", f.state}, {"kind", f.kind}, {"q", f.text}, {"error", f.failure}, {"cursor", f.place.Cursor}, {"trail", f.place.Trail}} {
		if p.value != "" {
			v.Set(p.name, p.value)
		}
	}
	return v
}

func (f filter) at(path string) string {
	if q := f.values().Encode(); q != "" {
		return path + "?" + q
	}
	return path
}

func (f filter) href() string { return f.at(home) }

// hidden are the values as fields of a form.
func (f filter) hidden() []ui.Hidden {
	var out []ui.Hidden
	for name, value := range f.values() {
		out = append(out, ui.Hidden{Name: name, Value: value[0]})
	}
	slices.SortFunc(out, func(a, b ui.Hidden) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return out
}

func (f filter) in(state string) filter { f.state, f.place = state, ui.Place{}; return f }
func (f filter) from(p ui.Place) filter { f.place = p; return f }
func (f filter) narrowed() bool         { return f.kind != "" || f.text != "" || f.failure != "" }
func (f filter) clear() filter          { return filter{state: f.state} }
func (f filter) like(g tasks.Group) filter {
	return filter{state: f.state, kind: g.Kind, failure: g.Error}
}

// query is the filter as the domain takes it; an error is about the search
// line or a value that was typed into the address.
func (f filter) query() (tasks.Query, error) {
	q, err := tasks.ParseSearch(f.text)
	if err != nil {
		return q, err
	}
	if f.state != "" && len(q.States) == 0 {
		q.States = []tasks.State{tasks.State(f.state)}
	}
	if f.kind != "" && q.Kind == "" {
		q.Kind = f.kind
	}
	if q.Error == "" {
		q.Error = f.failure
	}
	q.Cursor = f.place.Cursor
	return q, nil
}

// failures reports whether the view is one of failures, which are then grouped.
func (f filter) failures() bool { return f.state == "retryable" || f.state == "discarded" }
