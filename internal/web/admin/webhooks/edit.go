package webhooks

import (
	"net/http"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
)

// EditForm shows the whole address and the values of the headers: the one page that does.
func (s *Section) EditForm(w http.ResponseWriter, r *http.Request) error {
	now, err := s.hooks.Form(r.Context(), idOf(r))
	if err != nil {
		return s.refused(w, r, err)
	}
	all, err := s.nouns(r.Context())
	if err != nil {
		return err
	}
	return s.showForm(w, r, http.StatusOK, formView{Form: filled(now, all), id: now.ID, version: now.Version})
}

// Save stores the form if the endpoint still is as the owner saw it. If it is not, the form comes back with what was typed
// and with what changed; saving it again puts it over the other change. Of a deleted endpoint the form of a new one is left.
func (s *Section) Save(w http.ResponseWriter, r *http.Request) error {
	form, ref, err := refOf(r)
	if err != nil {
		return err
	}
	in := read(form)
	if unreadable(form) {
		return s.showForm(w, r, http.StatusUnprocessableEntity, formView{Form: form, id: ref.ID, version: ref.Version})
	}
	_, err = s.hooks.Update(r.Context(), webhooks.UpdateIn{ID: ref.ID, Version: ref.Version, URL: &in.url, Description: &in.description,
		EventTypes: &in.types, Headers: &in.headers, MaxPerSecond: &in.maxPerSecond})
	if said, stale := conflict(err); stale {
		now, gone := s.hooks.Form(r.Context(), ref.ID)
		if op.CodeOf(gone) == op.Conflict { // deleted: what was typed can become a new endpoint
			return s.showForm(w, r, http.StatusConflict, formView{Form: form, stale: said})
		}
		if gone != nil {
			return gone
		}
		return s.showForm(w, r, http.StatusConflict, formView{Form: form, id: ref.ID, version: now.Version, stale: said})
	}
	if err != nil {
		if !absorb(form, err, len(in.headers)) {
			return err
		}
		return s.showForm(w, r, http.StatusUnprocessableEntity, formView{Form: form, id: ref.ID, version: ref.Version})
	}
	edge.SetFlash(w, r, "webhook-saved", 0)
	return edge.SeeOther(w, r, link(ref.ID))
}
