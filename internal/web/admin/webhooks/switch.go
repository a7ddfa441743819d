package webhooks

import (
	"net/http"
	"net/url"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// askView is a page that asks before something is done to an endpoint.
type askView struct {
	webhooks.Endpoint
	plan op.Plan
	// choices are the plans of a page that leaves a choice, by its value.
	choices map[string]op.Plan
	*edge.Form
	flash *ui.Flash
}

// ask reads the endpoint for a page that asks; one that was deleted meanwhile has nothing to ask about.
func (s *Section) ask(r *http.Request, form *edge.Form) (askView, error) {
	e, err := s.hooks.Get(r.Context(), webhooks.GetIn{ID: idOf(r)})
	if err == nil && e.Deleted {
		err = op.Errorf(op.Conflict, "This endpoint was deleted meanwhile. Its log is still there.")
	}
	return askView{Endpoint: e, Form: form}, err
}

// Pause switches an endpoint off by the owner's wish.
func (s *Section) Pause(w http.ResponseWriter, r *http.Request) error {
	_, ref, err := refOf(r)
	if err != nil {
		return err
	}
	if _, err := s.hooks.Pause(r.Context(), ref); err != nil {
		return s.refused(w, r, err)
	}
	edge.SetFlash(w, r, "webhook-paused", 0)
	return edge.SeeOther(w, r, link(ref.ID))
}

// AskEnable asks what is to become of parked deliveries.
func (s *Section) AskEnable(w http.ResponseWriter, r *http.Request) error {
	return s.showEnable(w, r, http.StatusOK, edge.Filled(url.Values{}))
}

func (s *Section) showEnable(w http.ResponseWriter, r *http.Request, status int, form *edge.Form) error {
	v, err := s.ask(r, form)
	if err != nil {
		return s.refused(w, r, err)
	}
	v.choices = map[string]op.Plan{}
	for _, parked := range choices(v.Endpoint) {
		v.choices[parked], err = op.Ask(r.Context(), s.plans, "webhooks.enable", webhooks.EnableIn{ID: v.ID, Version: v.Version, Parked: parked})
		if err != nil {
			return s.refused(w, r, err)
		}
	}
	return edge.Render(w, r, status, enablePage(v))
}

// choices are what can be done with what is parked: nothing when nothing is.
func choices(e webhooks.Endpoint) []string {
	if e.Parked.N == 0 {
		return []string{""}
	}
	return []string{webhooks.ParkedDeliver, webhooks.ParkedDrop}
}

// Enable applies the plan that the owner chose: it switches an endpoint on and delivers or drops what was parked.
func (s *Section) Enable(w http.ResponseWriter, r *http.Request) error {
	form, err := edge.ParseForm(r)
	if err != nil {
		return err
	}
	parked := form.Text("parked")
	plan := form.Text("plan" + parked)
	if parked == "" && plan == "" && form.Text("plan"+webhooks.ParkedDeliver) != "" {
		form.Fail("parked", "Say whether to deliver or to drop what is parked.")
		return s.showEnable(w, r, http.StatusUnprocessableEntity, form)
	}
	on, err := op.Confirm[webhooks.Enabled](r.Context(), s.plans, "webhooks.enable", plan)
	if err != nil {
		return s.refused(w, r, err)
	}
	switch {
	case on.Dropped > 0:
		edge.SetFlash(w, r, "webhook-on-drop", on.Dropped)
	case on.Released.N > 0:
		edge.SetFlash(w, r, "webhook-on-deliver", on.Released.N)
	default:
		edge.SetFlash(w, r, "webhook-on", 0)
	}
	return edge.SeeOther(w, r, link(idOf(r)))
}

// AskRotate asks how long the old key is to sign as well.
func (s *Section) AskRotate(w http.ResponseWriter, r *http.Request) error {
	return s.showRotate(w, r, http.StatusOK, edge.Filled(url.Values{"overlap": {"24h"}}), nil)
}

func (s *Section) showRotate(w http.ResponseWriter, r *http.Request, status int, form *edge.Form, flash *ui.Flash) error {
	v, err := s.ask(r, form)
	if err != nil {
		return s.refused(w, r, err)
	}
	v.flash = flash
	return edge.Render(w, r, status, rotatePage(v))
}

// Rotate gives the endpoint a new key and shows it, this once.
func (s *Section) Rotate(w http.ResponseWriter, r *http.Request) error {
	form, ref, err := refOf(r)
	if err != nil {
		return err
	}
	made, err := s.hooks.RotateSecret(r.Context(), webhooks.RotateIn{ID: ref.ID, Version: ref.Version, Overlap: form.Text("overlap"),
		Force: form.Bool("force"), Scheme: webhooks.Scheme(form.Text("scheme"))})
	if err != nil && form.Absorb(err) {
		return s.showRotate(w, r, http.StatusUnprocessableEntity, form, nil)
	}
	if said, stale := conflict(err); stale {
		return s.showRotate(w, r, http.StatusConflict, form, &ui.Flash{Tone: ui.Warn, Text: said})
	}
	if err != nil {
		return err
	}
	said := "The old key no longer signs: the receiver needs the new one now."
	if len(made.Endpoint.Keys) > 1 {
		said = "Until the overlap ends both keys sign, so the receiver can change over in peace."
	}
	return edge.RenderSecret(w, r, http.StatusOK, secretPage(made, said))
}

// AskDelete names what a deletion takes with it.
func (s *Section) AskDelete(w http.ResponseWriter, r *http.Request) error {
	v, err := s.ask(r, nil)
	if err != nil {
		return s.refused(w, r, err)
	}
	// As the owner sees it: changed since, it is not deleted.
	if v.plan, err = op.Ask(r.Context(), s.plans, "webhooks.delete", webhooks.Ref{ID: v.ID, Version: v.Version}); err != nil {
		return s.refused(w, r, err)
	}
	return edge.Render(w, r, http.StatusOK, deletePage(v))
}

// Delete applies the plan that the owner saw: it forgets an endpoint and cancels what waits for it.
func (s *Section) Delete(w http.ResponseWriter, r *http.Request) error {
	form, err := edge.ParseForm(r)
	if err != nil {
		return err
	}
	out, err := op.Confirm[webhooks.DeleteOut](r.Context(), s.plans, "webhooks.delete", form.Text("plan"))
	if err != nil {
		return s.refused(w, r, err)
	}
	edge.SetFlash(w, r, "webhook-deleted", out.Cancelled)
	return edge.SeeOther(w, r, home)
}
