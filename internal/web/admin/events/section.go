// Package events shows the stream of events and what became of each.
package events

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

const home = "/admin/events"

// Section holds the handlers.
type Section struct {
	tasks *tasks.Domain
	live  string
}

// New returns the section; live is the address of the event stream, "" for
// still pages.
func New(d *tasks.Domain, live string) *Section { return &Section{tasks: d, live: live} }

// Messages are what the section's actions say when they are done.
func Messages() map[string]edge.Message {
	return map[string]edge.Message{
		"event-requeued": {Tone: ui.Done, One: "The event will be handed over again, with all its tries."},
	}
}

// filter is what the address of the stream says.
type filter struct {
	typ, state, subject string
	place               ui.Place
}

func readFilter(r *http.Request) filter {
	q := r.URL.Query()
	return filter{typ: strings.TrimSpace(q.Get("type")), state: q.Get("state"), subject: strings.TrimSpace(q.Get("subject")), place: ui.Place{Cursor: q.Get("cursor"), Trail: q.Get("trail")}}
}

func (f filter) at(path string, more ...string) string {
	v := url.Values{}
	pairs := append([]string{"type", f.typ, "state", f.state, "subject", f.subject, "cursor", f.place.Cursor, "trail", f.place.Trail}, more...)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			v.Set(pairs[i], pairs[i+1])
		}
	}
	if len(v) == 0 {
		return path
	}
	return path + "?" + v.Encode()
}

func (f filter) in(state string) filter { f.state, f.place = state, ui.Place{}; return f }
func (f filter) from(p ui.Place) filter { f.place = p; return f }
func (f filter) narrowed() bool         { return f.typ != "" || f.subject != "" }

func (f filter) query() tasks.EventQuery {
	return tasks.EventQuery{Type: f.typ, State: tasks.EventState(f.state), Subject: f.subject, Cursor: f.place.Cursor}
}

// listView is the stream as the page shows it.
type listView struct {
	filter filter
	form   *edge.Form
	rows   []tasks.Event
	types  []tasks.EventType
	next   string
	flash  *ui.Flash
	live   string
}

// List shows events, newest first.
func (s *Section) List(w http.ResponseWriter, r *http.Request) error {
	v := listView{filter: readFilter(r), form: edge.Filled(r.URL.Query()), live: s.live}
	status := http.StatusOK
	out, err := s.tasks.ListEvents(r.Context(), v.filter.query())
	if err != nil {
		if !v.form.Absorb(err) {
			return err
		}
		status = http.StatusUnprocessableEntity
	}
	v.rows, v.next = out.Events, out.Next
	types, err := s.tasks.EventTypes(r.Context(), tasks.None{})
	if err != nil {
		return err
	}
	v.types, v.flash = types.Types, edge.TakeFlash(w, r)
	return edge.Render(w, r, status, listPage(v))
}

// New answers how many events came since the newest row of a list.
func (s *Section) New(w http.ResponseWriter, r *http.Request) error {
	f := readFilter(r).from(ui.Place{})
	after, err := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
	if err != nil {
		return edge.ErrNotFound
	}
	q := f.query()
	q.AfterSeq, q.Limit = after, 100
	out, err := s.tasks.ListEvents(r.Context(), q)
	if err != nil {
		return err
	}
	return edge.Render(w, r, http.StatusOK, ui.NewRowsLink(len(out.Events), f.at(home)))
}

// Shown answers with the same rows as they are now.
func (s *Section) Shown(w http.ResponseWriter, r *http.Request) error {
	seqs, err := edge.Numbers(r.URL.Query().Get("seqs"))
	if err != nil {
		return err
	}
	rows, err := s.tasks.EventsAtPresent(r.Context(), seqs)
	if err != nil {
		return err
	}
	return edge.Render(w, r, http.StatusOK, table(rows))
}

// shown is where rows are asked for again.
func shown(rows []tasks.Event) string {
	seqs := make([]string, 0, len(rows))
	for _, e := range rows {
		seqs = append(seqs, strconv.FormatInt(e.Seq, 10))
	}
	return home + "/shown?seqs=" + strings.Join(seqs, ".")
}

// One shows one event, its data, its cause and its tasks.
func (s *Section) One(w http.ResponseWriter, r *http.Request) error {
	return s.show(w, r, http.StatusOK, edge.TakeFlash(w, r))
}

func (s *Section) show(w http.ResponseWriter, r *http.Request, status int, flash *ui.Flash) error {
	out, err := s.tasks.GetEvent(r.Context(), tasks.EventIn{ID: chi.URLParam(r, "id")})
	if err != nil {
		return err
	}
	return edge.Render(w, r, status, onePage(out, flash, s.live))
}

// Requeue gives a poisoned event a fresh start. One that is no longer poisoned
// is left alone, and its page says so.
func (s *Section) Requeue(w http.ResponseWriter, r *http.Request) error {
	if _, err := edge.ParseForm(r); err != nil {
		return err
	}
	id := chi.URLParam(r, "id")
	_, err := s.tasks.RequeueEvent(r.Context(), tasks.EventIn{ID: id})
	if op.CodeOf(err) == op.Conflict {
		return s.show(w, r, http.StatusConflict, &ui.Flash{Tone: ui.Warn, Text: "This event is no longer set aside. Nothing was done; this is how it stands now."})
	}
	if err != nil {
		return err
	}
	edge.SetFlash(w, r, "event-requeued", 0)
	return edge.SeeOther(w, r, edge.Back(r, link(id)))
}

func link(id string) string { return home + "/" + id }

func taskLink(id tasks.ID) string { return "/admin/tasks/" + number(id) }

func number(id tasks.ID) string { return strconv.FormatInt(int64(id), 10) }

func tabs(f filter) []ui.Tab {
	all := []ui.Tab{{Label: "All", Href: f.in("").at(home), Current: f.state == ""}}
	for _, s := range tasks.EventStates() {
		all = append(all, ui.Tab{Label: string(s), Href: f.in(string(s)).at(home), Current: f.state == string(s)})
	}
	return all
}

func newest(rows []tasks.Event) string {
	if len(rows) == 0 {
		return "0"
	}
	return strconv.FormatInt(rows[0].Seq, 10)
}

func pager(v listView) ui.Pager {
	var p ui.Pager
	at := v.filter.place
	if at.Cursor != "" {
		p.Newer = v.filter.from(at.Newer()).at(home)
	}
	if v.next != "" {
		p.Older = v.filter.from(at.Older(v.next)).at(home)
	}
	return p
}

func clearHref(f filter) string {
	if !f.narrowed() {
		return ""
	}
	return filter{state: f.state}.at(home)
}

func facts(e tasks.Event) []ui.Pair {
	pairs := []ui.Pair{
		{Key: "State", Value: ui.StateChip(string(e.State))},
		{Key: "Type", Value: ui.Mono(e.Type)},
		{Key: "Subject", Value: subject(e.Subject)},
		{Key: "Id", Value: ui.ID(e.ID, "event id")},
		{Key: "Happened", Value: ui.ExactTime(e.OccurredAt)},
	}
	if e.FannedOutAt != nil {
		pairs = append(pairs, ui.Pair{Key: "Handed over", Value: after(*e.FannedOutAt, e.OccurredAt)})
	}
	if e.RetryAt != nil && e.State == "waiting" {
		pairs = append(pairs, ui.Pair{Key: "Next try", Value: ui.Time(*e.RetryAt)})
	}
	return pairs
}
