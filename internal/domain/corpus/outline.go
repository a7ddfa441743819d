package corpus

import (
	"context"
	"fmt"
)

// TreeNode is a note of the wiki in its place.
type TreeNode struct {
	ID        string `json:"id"`
	ParentID  string `json:"parent_id"`
	Title     string `json:"title"`
	Path      string `json:"path"`
	Address   string `json:"address"`
	Depth     int    `json:"depth"` // 0 at the top
	Published bool   `json:"published"`
	Folder    bool   `json:"folder"`
	Children  int    `json:"children"` // directly below, in this outline
}

// Tree is the whole wiki in the order it is shown in: a note, then all below it.
func (d *Domain) Tree(ctx context.Context) ([]TreeNode, error) { return d.store().tree(ctx, false) }

// PublicIndex is the published part of the wiki. A published note below a
// private one stands at the level of its nearest published ancestor.
func (d *Domain) PublicIndex(ctx context.Context) ([]TreeNode, error) {
	return d.store().tree(ctx, true)
}

func (s store) tree(ctx context.Context, publicOnly bool) ([]TreeNode, error) {
	rows, err := s.q.Query(ctx, `
		select id::text, coalesce(parent_id::text, ''), title, path, published, folder from public.notes
		where genre = 'wiki' and deleted_at is null order by position, lower(title), id`)
	if err != nil {
		return nil, fmt.Errorf("read the tree: %w", err)
	}
	defer rows.Close()
	below := map[string][]TreeNode{}
	for rows.Next() {
		var t TreeNode
		if err := rows.Scan(&t.ID, &t.ParentID, &t.Title, &t.Path, &t.Published, &t.Folder); err != nil {
			return nil, fmt.Errorf("read the tree: %w", err)
		}
		t.Address = address(Wiki, t.ID, t.Path)
		below[t.ParentID] = append(below[t.ParentID], t)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read the tree: %w", err)
	}
	return outline(below, publicOnly), nil
}

func outline(below map[string][]TreeNode, publicOnly bool) []TreeNode {
	out := []TreeNode{}
	var walk func(parent, shownUnder string, at, depth int)
	walk = func(parent, shownUnder string, at, depth int) {
		for _, t := range below[parent] {
			if publicOnly && !t.Published {
				walk(t.ID, shownUnder, at, depth)
				continue
			}
			t.ParentID, t.Depth = shownUnder, depth
			if at >= 0 {
				out[at].Children++
			}
			out = append(out, t)
			walk(t.ID, t.ID, len(out)-1, depth+1)
		}
	}
	walk("", "", -1, 0)
	return out
}
