package edge_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

func TestFlashIsShownOnce(t *testing.T) {
	t.Parallel()
	for count, want := range map[int]string{0: "The task will be tried again.", 1: "The task will be tried again.", 1240: "1\u202f240 tasks will be tried again."} {
		var shown *ui.Flash
		h, _ := house(t, func(w http.ResponseWriter, r *http.Request) error {
			if r.Method == http.MethodPost {
				edge.SetFlash(w, r, "tasks.retried", count)
				return edge.SeeOther(w, r, "/admin/tasks")
			}
			shown = edge.TakeFlash(w, r)
			return nil
		})
		left := ask(h, post("/act", nil)).Result().Cookies()[0]
		if !left.HttpOnly || !left.Secure || left.SameSite != http.SameSiteLaxMode || left.MaxAge <= 0 || left.MaxAge > 60 {
			t.Errorf("cookie %+v", left)
		}
		next := getPage("/admin/tasks")
		next.AddCookie(left)
		taken := ask(h, next).Result().Cookies()[0]
		if shown == nil || shown.Text != want || shown.Tone != ui.Done {
			t.Errorf("count %d: shown %+v, want %q", count, shown, want)
		}
		if taken.MaxAge >= 0 {
			t.Errorf("the message stays: %+v", taken)
		}
	}
}

func TestAPlantedFlashSaysNothing(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"You have won:1", "tasks.retried", "tasks.retried:x", "tasks.retried:1:2", ""} {
		var shown *ui.Flash
		h, _ := house(t, func(w http.ResponseWriter, r *http.Request) error { shown = edge.TakeFlash(w, r); return nil })
		r := getPage("/x")
		r.AddCookie(&http.Cookie{Name: "gatehouse_flash", Value: value})
		ask(h, r)
		if shown != nil {
			t.Errorf("%q shows %+v", value, shown)
		}
	}
}

func TestAnUnknownMessageIsLoggedAndTheActionStands(t *testing.T) {
	t.Parallel()
	h, book := house(t, func(w http.ResponseWriter, r *http.Request) error {
		edge.SetFlash(w, r, "tasks.retreid", 1)
		return edge.SeeOther(w, r, "/admin/tasks")
	})
	w := ask(h, post("/act", nil))
	if w.Code != http.StatusSeeOther || len(w.Result().Cookies()) != 0 || !strings.Contains(book.String(), "tasks.retreid") {
		t.Errorf("%d, %v, logged %q", w.Code, w.Result().Cookies(), book.String())
	}
}
