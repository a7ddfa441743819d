package notes_test

import (
	"strings"
	"testing"
)

// Both pages of imports follow what happens by the panel's one stream.
func TestPagesOfImportsListenToTheStream(t *testing.T) {
	t.Parallel()
	p := newPanel(t)
	page := p.get("/admin/notes/import").Body.String()
	if !strings.Contains(page, `id="imports"`) || !strings.Contains(page, `hx-trigger="live:imports"`) {
		t.Errorf("the list does not follow:\n%s", page)
	}
	var id string
	if err := p.db.QueryRow(t.Context(), `insert into public.imports (owner_id, source, total) select id, 'Garden', 3 from public.owners returning id::text`).Scan(&id); err != nil {
		t.Fatal(err)
	}
	page = p.get("/admin/notes/import/" + id + "?outcome=refused").Body.String()
	for _, want := range []string{`id="import-state"`, `hx-trigger="live:imports"`, `hx-get="/admin/notes/import/` + id + `?outcome=refused"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the report lacks %s:\n%s", want, page)
		}
	}
}
