package admin_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks/taskstest"
	"github.com/gatehouse-hq/gatehouse/internal/web/webtest"
)

// A hold is shown with what it keeps back; one click sends it, and a second page stands before a drop.
func TestHoldIsShownAndReleased(t *testing.T) {
	t.Parallel()
	p := open(t, &taskstest.Queue{}, &taskstest.Stream{})
	holds(t, p.page(t, "/admin/instance"), "Nothing is on hold", "None was made yet", "free at")
	holds(t, p.page(t, "/admin/instance/hold"), "until you release the hold")

	to, flash := p.sent(t, webtest.Post("/admin/instance/hold"))
	if to != "/admin/instance" || !strings.Contains(flash, "hold-set") {
		t.Errorf("%s %s", to, flash)
	}
	page := p.page(t, "/admin/instance")
	holds(t, page, "sends are on hold", "You put it on hold.", "0 deliveries", "Send what waits")
	id := regexp.MustCompile(`name="hold" value="([^"]+)"`).FindStringSubmatch(page)
	if id == nil {
		t.Fatal("the page names no hold")
	}
	holds(t, p.page(t, "/admin/instance/drop"), id[1], "can be recovered")
	p.status(t, webtest.Post("/admin/instance/release", "hold", id[1], "choice", "keep"), http.StatusUnprocessableEntity)

	if _, flash := p.sent(t, webtest.Post("/admin/instance/release", "hold", id[1], "choice", "send")); !strings.Contains(flash, "hold-sent") {
		t.Error(flash)
	}
	// The page in another tab is stale now: its button does nothing and says so.
	if _, flash := p.sent(t, webtest.Post("/admin/instance/release", "hold", id[1], "choice", "drop")); !strings.Contains(flash, "hold-over") {
		t.Error(flash)
	}
	holds(t, p.page(t, "/admin/instance"), "Nothing is on hold", "Earlier holds")
	if to, _ := p.sent(t, webtest.Get("/admin/instance/drop")); to != "/admin/instance" {
		t.Error(to)
	}
}
