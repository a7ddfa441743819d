package corpus_test

import (
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// Where a wikilink leads, as Obsidian has it: exact path, name, alias; case
// makes no difference; the nearest of several.
func TestResolve(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, lines := h.bring(vaultDir(t, map[string]string{
		"Home.md":                   "x",
		"Notes/Pump.md":             "---\ntitle: The pump\naliases: [\"Plan: second\"]\n---\n",
		"Garden/Pump.md":            "y",
		"Garden/Deep/Start.md":      "z",
		"Garden/Deep/v1.2 notes.md": "z",
		"Cafe\u0301.md":             "decomposed",
		"链接/反向链接.md":                "中",
	}), corpus.ImportOptions{Name: "v"})
	own := h.create(corpus.NewNote{Title: "Own note", Aliases: []string{"Mine"}})
	for link, want := range map[string]string{
		"Home":             "Home.md",
		"home":             "Home.md",
		"Home.md":          "Home.md",
		"Notes/Pump":       "Notes/Pump.md",
		"notes/pump":       "Notes/Pump.md",
		"Garden/Pump.md":   "Garden/Pump.md",
		"Pump":             "Garden/Pump.md", // nearest to Garden/Deep/Start
		"../Pump":          "Garden/Pump.md",
		"../../Notes/Pump": "Notes/Pump.md",
		"./Pump":           "",
		"Other/Pump":       "",
		"The pump":         "Notes/Pump.md",
		"plan: Second":     "Notes/Pump.md",
		"v1.2 notes":       "Garden/Deep/v1.2 notes.md",
		"Café":             "Café.md",
		"反向链接":             "链接/反向链接.md",
		"链接/反向链接":          "链接/反向链接.md",
		"Own note":         "own",
		"mine":             "own",
		"own-note":         "own",
		"Nowhere":          "",
		"...":              "",
		"":                 "",
	} {
		n, err := h.notes.Resolve(t.Context(), link, lines["Garden/Deep/Start.md"].NoteID)
		if want == "" {
			if op.CodeOf(err) != op.NotFound {
				t.Errorf("[[%s]] leads to %q, %v; want nowhere", link, n.Path, err)
			}
			continue
		}
		id := lines[want].NoteID
		if want == "own" {
			id = own.ID
		}
		if err != nil || n.ID != id {
			t.Errorf("[[%s]] leads to %q, %v; want %s", link, n.Path, err, want)
		}
	}
}
