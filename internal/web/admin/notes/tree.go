package notes

import (
	"net/http"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// treeWhole is how many notes are shown as a tree that folds; of more, one level at a time.
const treeWhole = 500

// treeView is the wiki, or one level of a large one.
type treeView struct {
	flash *ui.Flash
	nodes []ui.Node
	total int
	under string // title of the note whose level is shown; "" for the top
	trail []ui.Link
}

func (s *Section) tree(w http.ResponseWriter, r *http.Request) error {
	all, err := s.corpus.Tree(r.Context())
	if err != nil {
		return err
	}
	v := treeView{total: len(all), flash: edge.TakeFlash(w, r)}
	under := r.URL.Query().Get("under")
	if len(all) <= treeWhole {
		v.nodes = branches(all)
		return edge.Render(w, r, http.StatusOK, treePage(v))
	}
	if under != "" {
		n, err := s.corpus.Get(r.Context(), under)
		if err != nil {
			return err
		}
		v.under = n.Title
		above, err := s.corpus.Ancestors(r.Context(), under)
		if err != nil {
			return err
		}
		v.trail = append(v.trail, ui.Link{Label: "Tree", Href: address + "/tree"})
		for _, c := range above {
			v.trail = append(v.trail, ui.Link{Label: c.Title, Href: levelAddress(c.ID)})
		}
	}
	for _, n := range all {
		if n.ParentID == under {
			v.nodes = append(v.nodes, ui.Node{Label: n.Title, Href: at(n.ID), Icon: icon(n), End: levelEnd(n)})
		}
	}
	return edge.Render(w, r, http.StatusOK, treePage(v))
}

func levelAddress(id string) string { return address + "/tree?under=" + id }

// branches makes a tree of nodes in display order. A small one stands open.
func branches(nodes []corpus.TreeNode) []ui.Node {
	const small = 80
	return grow(nodes, len(nodes) <= small)
}

func grow(nodes []corpus.TreeNode, open bool) []ui.Node {
	var out []ui.Node
	for i := 0; i < len(nodes); {
		end := i + 1
		for end < len(nodes) && nodes[end].Depth > nodes[i].Depth {
			end++
		}
		n := nodes[i]
		out = append(out, ui.Node{Label: n.Title, Href: at(n.ID), Icon: icon(n), End: leafEnd(n), Open: open, Children: grow(nodes[i+1:end], open)})
		i = end
	}
	return out
}

func icon(n corpus.TreeNode) string {
	if n.Folder {
		return "folder"
	}
	return ""
}
