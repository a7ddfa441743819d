package webhooks

import (
	"net/http"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// Again sends the selected deliveries again, or the one whose own button was pressed.
func (s *Section) Again(w http.ResponseWriter, r *http.Request) error {
	form, err := edge.ParseForm(r)
	if err != nil {
		return err
	}
	chosen := form.List("event")
	if only := form.List("only"); len(only) == 1 {
		chosen = only
	}
	id := idOf(r)
	if len(chosen) == 0 {
		edge.SetFlash(w, r, "webhook-again-none", 0)
		return edge.SeeOther(w, r, edge.Back(r, link(id)))
	}
	out, err := s.hooks.Redeliver(r.Context(), webhooks.RedeliverIn{EndpointID: id, EventIDs: chosen})
	if err != nil {
		return s.refused(w, r, err)
	}
	edge.SetFlash(w, r, "webhook-again", out.Queued)
	return edge.SeeOther(w, r, edge.Back(r, link(id)))
}

// recoverView is the page that asks for a window of time, and the one that confirms it with its count.
type recoverView struct {
	webhooks.Endpoint
	*edge.Form
	count   webhooks.Count
	counted bool
	in      webhooks.RecoverIn
	plan    op.Plan
}

// planned carries a plan along, so that what is done is what was shown.
func planned(p op.Plan) []ui.Hidden { return []ui.Hidden{{Name: "plan", Value: p.ID}} }

func countOf(p op.Plan) webhooks.Count { return webhooks.Count{N: p.Count, AtLeast: p.AtLeast} }

// AskFailed names how many deliveries have failed.
func (s *Section) AskFailed(w http.ResponseWriter, r *http.Request) error {
	e, err := s.hooks.Get(r.Context(), webhooks.GetIn{ID: idOf(r)})
	if err != nil {
		return err
	}
	plan, err := op.Ask(r.Context(), s.plans, "webhooks.redeliver_failed", webhooks.RedeliverFailedIn{EndpointID: e.ID})
	if err != nil {
		return s.refused(w, r, err)
	}
	return edge.Render(w, r, http.StatusOK, failedPage(recoverView{Endpoint: e, count: countOf(plan), counted: true, plan: plan}))
}

// Failed sends every delivery again that had failed when the owner looked.
func (s *Section) Failed(w http.ResponseWriter, r *http.Request) error {
	return s.confirmed(w, r, "webhooks.redeliver_failed")
}

// confirmed applies the plan that the owner saw.
func (s *Section) confirmed(w http.ResponseWriter, r *http.Request, operation string) error {
	form, err := edge.ParseForm(r)
	if err != nil {
		return err
	}
	out, err := op.Confirm[webhooks.RecoverOut](r.Context(), s.plans, operation, form.Text("plan"))
	if err != nil {
		return s.refused(w, r, err)
	}
	return s.recovering(w, r, out)
}

// AskRecover asks for a window of time; with one in the address it names how many deliveries that is.
func (s *Section) AskRecover(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	if !q.Has("which") {
		q.Set("which", webhooks.Undelivered)
	}
	return s.showRecover(w, r, edge.Filled(q), q.Has("since"))
}

func (s *Section) showRecover(w http.ResponseWriter, r *http.Request, form *edge.Form, counted bool) error {
	asked, err := s.ask(r, form)
	if err != nil {
		return s.refused(w, r, err)
	}
	e := asked.Endpoint
	v := recoverView{Endpoint: e, Form: form}
	status := http.StatusOK
	if counted {
		v.in = window(form, e.ID, ui.EnvFrom(r.Context()))
		if form.OK() {
			v.plan, err = op.Ask(r.Context(), s.plans, "webhooks.recover", v.in)
			if err != nil && !form.Absorb(err) {
				return s.refused(w, r, err)
			}
			v.count = countOf(v.plan)
		}
		v.counted = form.OK()
		if !v.counted {
			status = http.StatusUnprocessableEntity
		}
	}
	return edge.Render(w, r, status, recoverPage(v))
}

// window reads what is to be recovered; what cannot be read stands at its field.
func window(f *edge.Form, id string, env ui.Env) webhooks.RecoverIn {
	in := webhooks.RecoverIn{EndpointID: id, Which: f.Choice("which", webhooks.Undelivered, webhooks.All), Until: env.Now}
	var err error
	if in.Since, err = parseTime("since", f.Text("since"), env.Zone); err != nil {
		f.Absorb(err)
	}
	if text := f.Text("until"); text != "" {
		if in.Until, err = parseTime("until", text, env.Zone); err != nil {
			f.Absorb(err)
		}
	}
	return in
}

// Recover sends again what the endpoint should have heard in the window that the owner saw counted.
func (s *Section) Recover(w http.ResponseWriter, r *http.Request) error {
	return s.confirmed(w, r, "webhooks.recover")
}

func (s *Section) recovering(w http.ResponseWriter, r *http.Request, out webhooks.RecoverOut) error {
	if out.Count.N == 0 {
		edge.SetFlash(w, r, "webhook-recover-nil", 0)
	} else {
		edge.SetFlash(w, r, "webhook-recover", out.Count.N)
	}
	return edge.SeeOther(w, r, link(idOf(r)))
}

func whichWord(which string) string {
	switch which {
	case webhooks.Undelivered:
		return "what never arrived"
	case webhooks.All:
		return "everything in the window"
	}
	return "all failed deliveries"
}
