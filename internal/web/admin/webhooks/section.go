// Package webhooks is where the owner keeps the receivers of other systems: endpoints with their health, the log of what
// each was sent and answered, and the ways to send again.
package webhooks

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

const home = "/admin/webhooks"

// Section holds the handlers.
type Section struct {
	hooks *webhooks.Domain
	plans *op.Plans
	live  string
}

// New returns the section; live is the address of the event stream, "" for still pages.
func New(d *webhooks.Domain, p *op.Plans, live string) *Section {
	return &Section{hooks: d, plans: p, live: live}
}

// Messages are what the section's actions say when they are done.
func Messages() map[string]edge.Message {
	return map[string]edge.Message{
		"webhook-saved":       {Tone: ui.Done, One: "The endpoint is saved. Deliveries on their way use the new values from their next attempt on."},
		"webhook-paused":      {Tone: ui.Done, One: "The endpoint is paused. What waits for it and what happens from now on is parked."},
		"webhook-on":          {Tone: ui.Done, One: "The endpoint is on."},
		"webhook-on-deliver":  {Tone: ui.Done, One: "The endpoint is on. The parked delivery is sent now.", Many: "The endpoint is on. # parked deliveries are sent, slowly at first."},
		"webhook-on-drop":     {Tone: ui.Done, One: "The endpoint is on. The parked delivery was dropped.", Many: "The endpoint is on. # parked deliveries were dropped."},
		"webhook-deleted":     {Tone: ui.Done, One: "The endpoint is deleted. Its log can be read for 14 more days.", Many: "The endpoint is deleted and # deliveries are cancelled. Its log can be read for 14 more days."},
		"webhook-again":       {Tone: ui.Done, One: "The delivery is sent again, under the id it always had.", Many: "# deliveries are sent again, under the ids they always had."},
		"webhook-again-none":  {Tone: ui.Warn, One: "No delivery was selected. Nothing was done."},
		"webhook-recover":     {Tone: ui.Told, One: "A delivery is queued again. Its progress stands below.", Many: "# deliveries are queued again. Their progress stands below."},
		"webhook-recover-nil": {Tone: ui.Told, One: "There was nothing to send any more. Nothing was done."},
	}
}

func link(id string) string { return home + "/" + id }

func idOf(r *http.Request) string { return chi.URLParam(r, "id") }

var errForm = op.Errorf(op.Invalid, "The form did not arrive whole. Go back and try again.")

// seen is what a button says of the endpoint the owner saw.
func seen(e webhooks.Endpoint) []ui.Hidden {
	return []ui.Hidden{{Name: "version", Value: number(e.Version)}}
}

// versionOf is the version the owner saw. A form without it acts on nothing.
func versionOf(f *edge.Form) (int64, error) {
	v, err := strconv.ParseInt(f.Text("version"), 10, 64)
	if err != nil || v < 1 {
		return 0, errForm
	}
	return v, nil
}

// refOf reads a posted form that names the endpoint as the owner saw it.
func refOf(r *http.Request) (*edge.Form, webhooks.Ref, error) {
	form, err := edge.ParseForm(r)
	if err != nil {
		return nil, webhooks.Ref{}, err
	}
	version, err := versionOf(form)
	return form, webhooks.Ref{ID: idOf(r), Version: version}, err
}

// refused answers a conflict with the endpoint's page as it stands now, which says what changed and that nothing was done.
// Any other error is the edge's to answer.
func (s *Section) refused(w http.ResponseWriter, r *http.Request, err error) error {
	said, ok := conflict(err)
	if !ok {
		return err
	}
	return s.show(w, r, idOf(r), http.StatusConflict, &ui.Flash{Tone: ui.Warn, Text: said})
}

func conflict(err error) (said string, ok bool) {
	var e *op.Error
	if op.CodeOf(err) != op.Conflict || !errors.As(err, &e) {
		return "", false
	}
	return e.Message(), true
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
