package ui_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

func TestStatesHaveTheColoursOfTheDesign(t *testing.T) {
	t.Parallel()
	for state, colour := range map[string]string{
		"pending": "sky", "running": "emerald", "retryable": "amber", "completed": "slate", "discarded": "rose",
		"cancelled": "violet", "parked": "indigo", "uncertain": "orange",
		"waiting": "sky", "delivered": "slate", "failed": "rose", "poisoned": "rose", "dropped": "slate",
	} {
		if got := ui.LookOf(state).Colour; got != colour {
			t.Errorf("%s is %s, want %s", state, got, colour)
		}
	}
}

// Colour alone never tells: states that share a colour on one page differ in word, and every
// icon is in the sprite.
func TestStatesAreToldByIconAndWord(t *testing.T) {
	t.Parallel()
	var words []string
	for _, state := range []string{
		"pending", "running", "retryable", "completed", "discarded", "cancelled", "waiting", "delivered", "failed", "parked", "dropped",
		"poisoned", "processing", "sent", "skipped", "uncertain", "healthy", "failing", "paused", "disabled", "overdue", "on_time",
		"published", "private", "revoked", "expired", "something_new",
	} {
		look := ui.LookOf(state)
		if look.Word == "" || slices.Contains(words, look.Word) {
			t.Errorf("%s has the word %q, which is empty or taken", state, look.Word)
		}
		words = append(words, look.Word)
		wants(t, sprite(t), `<symbol id="`+look.Icon+`"`)
	}
	if html := render(t, ui.StateChip("on_time")); !strings.Contains(html, "on time") {
		t.Errorf("the chip does not say its word: %s", html)
	}
}
