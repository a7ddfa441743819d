package public

import (
	"net/http"
	"strconv"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// Bounds that keep the index of a large wiki a page of at most 60 kB compressed.
const (
	treeWhole = 600 // as many notes are shown with every level
	treePage  = 600 // entries a page
)

// branch is a note of the index with what stands below it.
type branch struct {
	ui.Link
	below []branch
}

// indexView is one page of the wiki's table of contents.
type indexView struct {
	branches []branch
	total    int
	pager    ui.Pager
	page     int
}

func (s *Site) wiki(w http.ResponseWriter, r *http.Request) error {
	nodes, err := s.outline(r.Context())
	if err != nil {
		return err
	}
	view := indexView{total: len(nodes), page: pageNumber(r)}
	if len(nodes) > treeWhole {
		nodes = upTo(nodes, 1)
	}
	first := (view.page - 1) * treePage
	if first > 0 && first >= len(nodes) {
		return edge.ErrNotFound
	}
	last := min(first+treePage, len(nodes))
	view.pager = pages("/wiki/?page=", view.page, last < len(nodes))
	view.branches = grow(nodes[first:last])
	return edge.RenderPublic(w, r, indexPage(view))
}

// grow makes a tree of nodes in display order. A node whose parent is on the page before stands at the top.
func grow(nodes []corpus.TreeNode) []branch {
	var out []branch
	for i := 0; i < len(nodes); {
		end := i + 1
		for end < len(nodes) && nodes[end].Depth > nodes[i].Depth {
			end++
		}
		out = append(out, branch{Link: nodeLink(nodes[i]), below: grow(nodes[i+1 : end])})
		i = end
	}
	return out
}

func upTo(nodes []corpus.TreeNode, depth int) []corpus.TreeNode {
	var out []corpus.TreeNode
	for _, n := range nodes {
		if n.Depth <= depth {
			out = append(out, n)
		}
	}
	return out
}

func nodeLink(n corpus.TreeNode) ui.Link {
	return ui.Link{Label: n.Title, Href: n.Address}
}

// maxPages ends the walk through pages by number.
const maxPages = 1000

func pageNumber(r *http.Request) int {
	n, err := strconv.Atoi(r.URL.Query().Get("page"))
	if err != nil || n < 1 || n > maxPages {
		return 1
	}
	return n
}

// pages leads to the pages before and after; prefix ends where the number goes.
func pages(prefix string, page int, more bool) ui.Pager {
	var p ui.Pager
	if page > 1 {
		p.Newer = prefix + strconv.Itoa(page-1)
	}
	if more {
		p.Older = prefix + strconv.Itoa(page+1)
	}
	if p.Newer != "" || p.Older != "" {
		p.Shown, p.Plain = "Page "+strconv.Itoa(page), true
	}
	return p
}
