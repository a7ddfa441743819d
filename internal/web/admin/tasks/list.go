package tasks

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// listView is the list as the page shows it.
type listView struct {
	filter     filter
	search     *edge.Form
	tabs       []ui.Tab
	kinds      []ui.Option
	rows       []tasks.Task
	next       string
	groups     []tasks.Group
	groupsGone bool // the groups could not be loaded
	flash      *ui.Flash
	live       string
}

// List shows tasks, newest first.
func (s *Section) List(w http.ResponseWriter, r *http.Request) error {
	if id, err := strconv.ParseInt(r.URL.Query().Get("job"), 10, 64); err == nil && id > 0 {
		return edge.SeeOther(w, r, link(tasks.ID(id)))
	}
	f := readFilter(r)
	v := listView{filter: f, live: s.live, search: edge.Filled(url.Values{"q": {f.text}, "kind": {f.kind}})}
	status, err := s.load(r.Context(), &v)
	if err != nil {
		return err
	}
	v.flash = edge.TakeFlash(w, r)
	return edge.Render(w, r, status, listPage(v))
}

func (s *Section) load(ctx context.Context, v *listView) (status int, err error) {
	v.kinds = s.kindOptions()
	query, err := v.filter.query()
	if err == nil {
		var page tasks.ListOut
		page, err = s.tasks.List(ctx, query)
		v.rows, v.next = page.Tasks, page.Next
	}
	status = http.StatusOK
	if err != nil {
		if !v.search.Absorb(err) {
			return 0, err
		}
		status = http.StatusUnprocessableEntity
	}
	counts, err := s.tasks.Overview(ctx, tasks.OverviewIn{})
	if err != nil {
		return 0, err
	}
	v.tabs = tabs(v.filter, counts)
	if status == http.StatusOK && v.filter.failures() && !v.filter.narrowed() {
		v.groups, err = s.tasks.Groups(ctx, query)
		if err != nil {
			// The list itself is at hand: only the summary is missing.
			s.edge.Log.ErrorContext(ctx, "group failures", "request_id", edge.RequestID(ctx), "error", err)
			v.groupsGone = true
		}
	}
	return status, nil
}

// New answers how many tasks came since the newest row of a list.
func (s *Section) New(w http.ResponseWriter, r *http.Request) error {
	f := readFilter(r)
	query, err := f.query()
	if err != nil {
		return err
	}
	after, err := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
	if err != nil {
		return edge.ErrNotFound
	}
	query.After, query.Cursor, query.Limit = tasks.ID(after), "", 100
	page, err := s.tasks.List(r.Context(), query)
	if err != nil {
		return err
	}
	return edge.Render(w, r, http.StatusOK, ui.NewRowsLink(len(page.Tasks), f.from(ui.Place{}).href()))
}

// Shown answers with the same rows as they are now.
func (s *Section) Shown(w http.ResponseWriter, r *http.Request) error {
	numbers, err := edge.Numbers(r.URL.Query().Get("ids"))
	if err != nil {
		return err
	}
	ids := make([]tasks.ID, len(numbers))
	for i, n := range numbers {
		ids[i] = tasks.ID(n)
	}
	rows, err := s.tasks.AtPresent(r.Context(), ids)
	if err != nil {
		return err
	}
	return edge.Render(w, r, http.StatusOK, table(rows))
}

// shown is where rows are asked for again.
func shown(rows []tasks.Task) string {
	ids := make([]string, 0, len(rows))
	for _, t := range rows {
		ids = append(ids, number(t.ID))
	}
	return home + "/shown?ids=" + strings.Join(ids, ".")
}

func (s *Section) kindOptions() []ui.Option {
	options := []ui.Option{{Value: "", Label: "Every kind"}}
	for _, k := range s.tasks.Kinds() {
		options = append(options, ui.Option{Value: k.Name, Label: k.Name})
	}
	return options
}

// tabs count every kind, whatever the filter: they say where things are.
func tabs(f filter, counts tasks.OverviewOut) []ui.Tab {
	all := []ui.Tab{{Label: "All", Href: f.in("").href(), Current: f.state == ""}}
	for _, state := range tasks.States() {
		c := counts.Total(state)
		all = append(all, ui.Tab{Label: ui.LookOf(string(state)).Word, Href: f.in(string(state)).href(), Count: bounded(c), Current: f.state == string(state)})
	}
	return all
}

func bounded(c tasks.Count) string {
	if c.AtLeast {
		return ui.Count(c.N) + "+"
	}
	return ui.Count(c.N)
}

func link(id tasks.ID) string { return home + "/" + number(id) }

func number(id tasks.ID) string { return strconv.FormatInt(int64(id), 10) }

func newest(rows []tasks.Task) string {
	if len(rows) == 0 {
		return "0"
	}
	return number(rows[0].ID)
}
