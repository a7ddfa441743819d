package corpus

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus/vault"
)

// plan is what has to be known about a whole vault before its first note can
// be written: which folders there are, which of them show something public,
// and who gets an address that two files want. It reads the vault once, and
// keeps no text, so that a vault may be larger than the memory.
type plan struct {
	name    string
	total   int
	folders map[string]*folder // by path within the vault, "" the root
	segment map[string]string  // of a file or folder, by path
}

// folder is a directory that holds notes.
type folder struct {
	path   string
	note   string // path of the note that stands for it: a sibling named like it; "" when it gets a note of its own
	public bool   // a note in it or below is to be published
}

// wish is what one file says about where it wants to be.
type wish struct {
	path, title string
	wiki        bool
	public      bool
}

func newPlan(ctx context.Context, v *vault.Vault, o ImportOptions) (*plan, error) {
	p := &plan{name: o.Name, total: v.Len(), folders: map[string]*folder{"": {}}, segment: map[string]string{}}
	var wishes []wish
	for r, err := range v.Records(ctx) {
		if err != nil {
			return nil, err
		}
		if r.Kind != vault.KindNote {
			continue
		}
		w := wish{path: r.Path, title: r.Note.Title, wiki: genreOf(r.Note) == Wiki, public: isPublic(r.Note, o)}
		if w.wiki {
			wishes = append(wishes, w)
			p.addFolders(path.Dir(r.Path), w.public)
		}
	}
	p.assign(wishes)
	return p, nil
}

func (p *plan) addFolders(dir string, public bool) {
	for ; dir != "." && dir != "/"; dir = path.Dir(dir) {
		f := p.folders[dir]
		if f == nil {
			f = &folder{path: dir}
			p.folders[dir] = f
		}
		f.public = f.public || public
	}
}

// assign gives each file and folder its segment: files first and in the order
// of their paths, so that the same vault always ends at the same addresses. A
// folder beside a note of its name is that note.
func (p *plan) assign(wishes []wish) {
	used := map[string]map[string]bool{}
	take := func(dir, segment string) string {
		if used[dir] == nil {
			used[dir] = map[string]bool{}
		}
		s := unused(segment, used[dir])
		used[dir][s] = true
		return s
	}
	slices.SortFunc(wishes, func(a, b wish) int { return cmp.Compare(a.path, b.path) })
	for _, w := range wishes {
		p.segment[w.path] = take(path.Dir(w.path), Segment(w.title))
		if f := p.folders[trimMarkdown(w.path)]; f != nil {
			f.note = w.path
		}
	}
	dirs := make([]string, 0, len(p.folders))
	for dir := range p.folders {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	for _, dir := range dirs {
		if f := p.folders[dir]; dir != "" && f.note == "" {
			p.segment[dir+"/"] = take(path.Dir(dir), Segment(path.Base(dir)))
		}
	}
}

// source is the stored source path of a file of this vault.
func (p *plan) source(file string) string { return p.name + "/" + file }

func genreOf(n *vault.Note) Genre {
	switch g := Genre(strings.ToLower(n.Front.Extra["genre"])); g {
	case Raw, Writing:
		return g
	}
	return Wiki
}

// isPublic is the author's word, and the importer's where there is none.
func isPublic(n *vault.Note, o ImportOptions) bool {
	if n.Front.Unreadable || genreOf(n) == Raw {
		return false
	}
	switch n.Front.Publish {
	case vault.PublishYes:
		return true
	case vault.PublishNo:
		return false
	}
	return o.PublishDefault
}

func datedOf(n *vault.Note) *time.Time {
	if genreOf(n) != Writing {
		return nil
	}
	for _, d := range []vault.Date{n.Front.Date, n.Front.Created} {
		if !d.Time.IsZero() {
			return &d.Time
		}
	}
	return nil
}
