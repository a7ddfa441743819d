package webhooks

import (
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// deliveryView is a delivery as its page shows it.
type deliveryView struct {
	webhooks.DeliveryDetail
	flash *ui.Flash
	live  string
}

// Delivery shows one delivery with each attempt.
func (s *Section) Delivery(w http.ResponseWriter, r *http.Request) error {
	d, err := s.hooks.Delivery(r.Context(), idOf(r), chi.URLParam(r, "event"))
	if err != nil {
		return err
	}
	return edge.Render(w, r, http.StatusOK, deliveryPage(deliveryView{DeliveryDetail: d, flash: edge.TakeFlash(w, r), live: s.live}))
}

func (v deliveryView) at() string { return link(v.EndpointID) + "/deliveries/" + v.EventID }

// whyNot says why a delivery cannot be sent again; "" when it can.
func (v deliveryView) whyNot() string {
	switch {
	case v.CanRedeliver:
		return ""
	case v.EventPruned:
		return "The event itself is no longer kept, so it cannot be sent again."
	case v.Trigger == webhooks.Test:
		return "A test is sent once. Send another from the endpoint's page."
	case v.Endpoint.Deleted:
		return "The endpoint was deleted, so nothing can be sent to it."
	}
	return "The endpoint is switched off. Switch it on first, on its page."
}

func (v deliveryView) steps() []ui.Step {
	var out []ui.Step
	for i := len(v.AttemptsMade) - 1; i >= 0; i-- {
		a := v.AttemptsMade[i]
		gap := ""
		if i > 0 {
			gap = ui.Span(a.StartedAt.Sub(v.AttemptsMade[i-1].StartedAt)) + " after the one before"
		}
		out = append(out, ui.Step{State: stateOf(a.Outcome), Gap: gap, Body: attempt(a, v.Endpoint)})
	}
	return out
}

// timing is one stretch of an attempt.
type timing struct {
	what string
	ms   float64
}

func timings(a webhooks.Attempt) []timing {
	all := []timing{{"Name lookup", a.DNSMS}, {"Connection", a.ConnectMS}, {"TLS", a.TLSMS}, {"First byte", a.FirstByteMS}, {"In all", a.TotalMS}}
	if a.Reused {
		return all[3:]
	}
	return all
}

// answer is the status in words.
func answer(a webhooks.Attempt) string {
	if a.Status == 0 {
		return "no answer"
	}
	if text := http.StatusText(a.Status); text != "" {
		return strconv.Itoa(a.Status) + " " + text
	}
	return strconv.Itoa(a.Status)
}
