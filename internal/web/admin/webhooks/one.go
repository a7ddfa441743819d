package webhooks

import (
	"context"
	"net/http"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// oneView is an endpoint as its page shows it.
type oneView struct {
	webhooks.Endpoint
	health     webhooks.Health
	selected   []string // event types that its patterns select now
	recoveries []webhooks.Recovery
	log        logView
	test       *webhooks.DeliveryDetail // the test that was just sent
	flash      *ui.Flash
	live       string
}

// One shows one endpoint: how it is doing, what it is, and its log.
func (s *Section) One(w http.ResponseWriter, r *http.Request) error {
	return s.show(w, r, idOf(r), http.StatusOK, edge.TakeFlash(w, r))
}

func (s *Section) show(w http.ResponseWriter, r *http.Request, id string, status int, flash *ui.Flash) error {
	v := oneView{flash: flash, live: s.live}
	err := s.loadOne(r.Context(), &v, id)
	if err != nil {
		return err
	}
	wrong, err := s.loadLog(r, &v.log, id)
	if err != nil {
		return err
	}
	if wrong && status == http.StatusOK {
		status = http.StatusUnprocessableEntity
	}
	if event := r.URL.Query().Get("test"); event != "" && r.Method == http.MethodGet {
		test, err := s.hooks.Delivery(r.Context(), id, event)
		if err != nil {
			return err
		}
		v.test = &test
	}
	return edge.Render(w, r, status, onePage(v))
}

func (s *Section) loadOne(ctx context.Context, v *oneView, id string) (err error) {
	if v.Endpoint, err = s.hooks.Get(ctx, webhooks.GetIn{ID: id}); err != nil {
		return err
	}
	if v.health, err = s.hooks.HealthOf(ctx, id); err != nil {
		return err
	}
	v.recoveries, err = s.hooks.Recoveries(ctx, id)
	v.selected = s.hooks.MatchTypes(v.EventTypes)
	return err
}

// SendTest sends one test event and shows the answer on the endpoint's page.
func (s *Section) SendTest(w http.ResponseWriter, r *http.Request) error {
	out, err := s.hooks.SendTest(r.Context(), webhooks.TestIn{ID: idOf(r)})
	if err != nil {
		return s.refused(w, r, err)
	}
	return edge.SeeOther(w, r, link(idOf(r))+"?test="+out.EventID)
}

// running are the recoveries to show: those under way, and the last one that ended.
func (v oneView) running() []webhooks.Recovery {
	var out []webhooks.Recovery
	for i, rec := range v.recoveries {
		if rec.FinishedAt == nil || i == 0 {
			out = append(out, rec)
		}
	}
	return out
}

func (v oneView) switchedOn() bool { return v.Status == webhooks.On || v.Status == webhooks.Failing }

// canSend reports whether deliveries can be sent again: not while the endpoint is off, nor once it is deleted.
func (v oneView) canSend() bool { return v.switchedOn() && !v.Deleted }
