package webhooks

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// filter is what the address says of the log.
type filter struct {
	state, eventType, since string
	place                   ui.Place
}

func readFilter(r *http.Request) filter {
	q := r.URL.Query()
	return filter{state: q.Get("state"), eventType: strings.TrimSpace(q.Get("type")), since: q.Get("since"), place: ui.Place{Cursor: q.Get("cursor"), Trail: q.Get("trail")}}
}

func (f filter) from(p ui.Place) filter { f.place = p; return f }
func (f filter) narrowed() bool         { return f.state != "" || f.eventType != "" || f.since != "" }

func (f filter) values() url.Values {
	v := url.Values{}
	for _, p := range [][2]string{{"state", f.state}, {"type", f.eventType}, {"since", f.since}, {"cursor", f.place.Cursor}, {"trail", f.place.Trail}} {
		if p[1] != "" {
			v.Set(p[0], p[1])
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

// query is the filter as the domain takes it; times are in the owner's zone.
func (f filter) query(endpointID string, zone *time.Location) (webhooks.DeliveriesIn, error) {
	in := webhooks.DeliveriesIn{EndpointID: endpointID, Type: f.eventType, Cursor: f.place.Cursor}
	if f.state != "" {
		in.States = []string{f.state}
	}
	var err error
	if f.since != "" {
		in.Since, err = parseTime("since", f.since, zone)
	}
	return in, err
}

// parseTime reads what a datetime-local field sends, and what our own pages carry along.
func parseTime(field, text string, zone *time.Location) (time.Time, error) {
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339Nano} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil && at.Year() > 1999 && at.Year() < 3000 {
			return at, nil
		}
	}
	return time.Time{}, op.Invalidf(field, "Write a date and a time, such as 2026-03-01 09:00.")
}

// logView is the log as the page shows it.
type logView struct {
	filter filter
	search *edge.Form
	rows   []webhooks.Delivery
	next   string
}

// loadLog reads a page of the log; wrong says that the filter could not be read, which stands at its field.
func (s *Section) loadLog(r *http.Request, v *logView, id string) (wrong bool, err error) {
	v.filter = readFilter(r)
	v.search = edge.Filled(url.Values{"state": {v.filter.state}, "type": {v.filter.eventType}, "since": {v.filter.since}})
	query, err := v.filter.query(id, ui.EnvFrom(r.Context()).Zone)
	if err == nil {
		var page webhooks.DeliveriesOut
		page, err = s.hooks.Deliveries(r.Context(), query)
		v.rows, v.next = page.Deliveries, page.Next
	}
	if err != nil && v.search.Absorb(err) {
		return true, nil
	}
	return false, err
}

// New answers how many deliveries came since the newest row of the log.
func (s *Section) New(w http.ResponseWriter, r *http.Request) error {
	f := readFilter(r).from(ui.Place{})
	query, err := f.query(idOf(r), ui.EnvFrom(r.Context()).Zone)
	if err != nil {
		return err
	}
	page, err := s.hooks.Deliveries(r.Context(), query)
	if err != nil {
		return err
	}
	n := 0
	for _, d := range page.Deliveries {
		if d.EventID > r.URL.Query().Get("after") { // ids rise with time
			n++
		}
	}
	return edge.Render(w, r, http.StatusOK, ui.NewRowsLink(n, f.at(link(idOf(r)))))
}

// Shown answers with the same rows of the log as they are now.
func (s *Section) Shown(w http.ResponseWriter, r *http.Request) error {
	ids, err := edge.UUIDs(r.URL.Query().Get("events"))
	if err != nil {
		return err
	}
	endpoint, err := s.hooks.Get(r.Context(), webhooks.GetIn{ID: idOf(r)})
	if err != nil {
		return err
	}
	rows, err := s.hooks.AtPresent(r.Context(), endpoint.ID, ids)
	if err != nil {
		return err
	}
	return edge.Render(w, r, http.StatusOK, logTable(oneView{Endpoint: endpoint, log: logView{rows: rows}}))
}

// shown is where the rows are asked for again.
func (v logView) shown(id string) string {
	events := make([]string, 0, len(v.rows))
	for _, d := range v.rows {
		events = append(events, d.EventID)
	}
	return link(id) + "/shown?events=" + strings.Join(events, ".")
}

func (v logView) newest() string {
	if len(v.rows) == 0 {
		return ""
	}
	return v.rows[0].EventID
}

func (v logView) pager(id string) ui.Pager {
	p := ui.Pager{}
	at := v.filter.place
	if at.Cursor != "" {
		p.Newer = v.filter.from(at.Newer()).at(link(id))
	}
	if v.next != "" {
		p.Older = v.filter.from(at.Older(v.next)).at(link(id))
	}
	return p
}

func (v logView) newRows(id string) string {
	q := v.filter.from(ui.Place{}).values()
	q.Set("after", v.newest())
	return link(id) + "/new?" + q.Encode()
}

func stateOptions() []ui.Option {
	options := []ui.Option{{Label: "Every state"}}
	for _, s := range webhooks.DeliveryStates() {
		options = append(options, ui.Option{Value: string(s), Label: string(s)})
	}
	return options
}

func canSendAgain(d webhooks.Delivery) bool { return !d.EventPruned && d.Trigger != webhooks.Test }
