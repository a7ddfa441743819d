package corpus_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// A parent is renamed while notes are made below it: no note keeps an address
// below a parent that is called otherwise by now.
func TestRenamesAndBirthsAtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	top := h.create(corpus.NewNote{Title: "Top"})
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range 15 {
				if _, err := h.notes.Create(t.Context(), corpus.NewNote{Genre: corpus.Wiki, Title: fmt.Sprintf("n %d %d", w, i), ParentID: top.ID, Published: i%2 == 0}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Go(func() {
		for i := range 15 {
			if _, err := h.notes.Update(t.Context(), corpus.Change{ID: top.ID, Title: new(fmt.Sprintf("Top %d", i))}); err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
	var astray int
	err := h.db.QueryRow(t.Context(), `select count(*) from public.notes c join public.notes p on p.id = c.parent_id where c.path <> p.path || '/' || c.segment`).Scan(&astray)
	if err != nil || astray != 0 {
		t.Errorf("%d notes have an address that is not below their parent's, %v", astray, err)
	}
	tree, err := h.notes.Tree(t.Context())
	if err != nil || len(tree) != 61 {
		t.Errorf("%d notes in the tree, %v", len(tree), err)
	}
}

// Two moves that would make a ring together: one of them is refused.
func TestMovesThatWouldMakeARing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for i := range 10 {
		a := h.create(corpus.NewNote{Title: fmt.Sprintf("a %d", i)})
		b := h.create(corpus.NewNote{Title: fmt.Sprintf("b %d", i)})
		errs := make(chan error, 2)
		for _, move := range [][2]string{{a.ID, b.ID}, {b.ID, a.ID}} {
			go func() {
				_, err := h.notes.Move(t.Context(), move[0], move[1], nil, 0)
				errs <- err
			}()
		}
		refusals := 0
		for range 2 {
			if err := <-errs; op.CodeOf(err) == op.Invalid {
				refusals++
			} else if err != nil {
				t.Error(err)
			}
		}
		if refusals != 1 {
			t.Errorf("%d of two moves were refused, want one", refusals)
		}
	}
}

// Two people save the same form: one is told, nothing is lost silently.
func TestTwoSavesOfOneForm(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	n := h.create(corpus.NewNote{Title: "Pump"})
	errs := make(chan error, 8)
	for i := range 8 {
		go func() {
			_, err := h.notes.Update(t.Context(), corpus.Change{ID: n.ID, ExpectVersion: n.Version, Body: new(fmt.Sprint(i))})
			errs <- err
		}()
	}
	saved := 0
	for range 8 {
		if err := <-errs; err == nil {
			saved++
		} else if op.CodeOf(err) != op.Conflict {
			t.Error(err)
		}
	}
	if got := h.get(n.ID); saved != 1 || got.Version != n.Version+1 {
		t.Errorf("%d saves went through, version %d", saved, got.Version)
	}
}
