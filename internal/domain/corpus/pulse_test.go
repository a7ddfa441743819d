package corpus_test

import (
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
)

// Pages that show imports hear of each step of one, whichever process works on it.
func TestThePulseFollowsAnImport(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.create(corpus.NewNote{Title: "Home"})
	const began = `insert into public.imports (owner_id, source, total) select id, 'Garden', 3 from public.owners`
	seen := map[string]bool{}
	for _, step := range []string{
		`select`,
		began,
		`update public.imports set done = 1`,
		`update public.imports set done = 3`,
		`update public.imports set state = 'completed', finished_at = clock_timestamp()`,
		began,
	} {
		if _, err := h.db.Exec(t.Context(), step); err != nil {
			t.Fatal(err)
		}
		now, err := h.notes.Pulse(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if seen[now[corpus.TopicImports]] {
			t.Errorf("nothing is new after %s", step)
		}
		seen[now[corpus.TopicImports]] = true
	}
}
