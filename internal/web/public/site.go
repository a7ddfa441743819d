package public

import (
	"context"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus/markdown"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// Notes is what visitors may ask of the corpus. *corpus.Domain is one.
type Notes interface {
	PublicByAddress(ctx context.Context, genre corpus.Genre, path string) (corpus.Found, error)
	RenderPublic(ctx context.Context, n corpus.Note, reserved ...string) (markdown.Page, error)
	PublicBacklinks(ctx context.Context, id string) ([]corpus.Crumb, error)
	PublicChildren(ctx context.Context, id string) ([]corpus.Crumb, error)
	PublicAncestors(ctx context.Context, id string) ([]corpus.Crumb, error)
	PublicTags(ctx context.Context) ([]corpus.TagCount, error)
	PublicByTag(ctx context.Context, tag, cursor string, limit int) (corpus.NoteList, error)
	PublicWritings(ctx context.Context, cursor string, limit int) (corpus.NoteList, error)
	PublicArchive(ctx context.Context, zone *time.Location) ([]corpus.Month, error)
	PublicIndex(ctx context.Context) ([]corpus.TreeNode, error)
	PublicRecent(ctx context.Context, limit int) ([]corpus.Note, error)
	PublicSitemap(ctx context.Context, fn func(address string, changed time.Time) error) error
	PublicStamp(ctx context.Context) (string, error)
	Attachment(ctx context.Context, id string, owner bool) (corpus.Attachment, error)
	Search(ctx context.Context, q corpus.SearchQuery) (corpus.SearchResults, error)
}

// Site serves the public pages.
type Site struct {
	notes  Notes
	edge   *edge.Edge
	notice func(http.Handler) http.Handler

	index  kept[[]corpus.TreeNode]
	tagged kept[[]corpus.TagCount]
	feed   kept[[]entry]
	mapped kept[[]byte]
}

// New returns the public face. notice puts the owner into the context of a request that is theirs, and lets
// strangers pass: attachments of private notes are shown to the owner alone.
func New(notes Notes, e *edge.Edge, notice func(http.Handler) http.Handler) *Site {
	return &Site{notes: notes, edge: e, notice: notice}
}

// outline is the public part of the wiki, in display order.
func (s *Site) outline(ctx context.Context) ([]corpus.TreeNode, error) {
	return s.index.get(ctx, s.notes.PublicStamp, s.notes.PublicIndex)
}

// Routes lists every address that visitors reach.
func (s *Site) Routes(r chi.Router) {
	get := func(pattern string, h edge.Handler) {
		handler := s.edge.Handle(h)
		r.Method(http.MethodGet, pattern, handler)
		r.Method(http.MethodHead, pattern, handler)
	}
	get("/", s.home)
	get("/wiki", moved("/wiki/"))
	get("/wiki/", s.wiki)
	get("/wiki/*", s.note(corpus.Wiki))
	get("/writing", moved("/writing/"))
	get("/writing/", s.archive)
	get("/writing/*", s.note(corpus.Writing))
	get("/tags", moved("/tags/"))
	get("/tags/", s.tags)
	get("/tags/*", s.tag)
	get("/search", s.search)
	get("/feed.xml", s.atom)
	get("/feed.json", s.jsonFeed)
	get("/sitemap.xml", s.sitemap)
	get("/robots.txt", s.robots)

	file := s.notice(s.edge.Handle(s.file))
	r.Method(http.MethodGet, "/files/*", file)
	r.Method(http.MethodHead, "/files/*", file)
}

func moved(to string) edge.Handler {
	return func(w http.ResponseWriter, r *http.Request) error { return redirect(w, r, to) }
}

// redirect is permanent in meaning and revalidated in practice: an address may come back to life.
func redirect(w http.ResponseWriter, r *http.Request, to string) error {
	w.Header().Set("Cache-Control", "private, no-cache")
	http.Redirect(w, r, to, http.StatusMovedPermanently)
	return nil
}

// maxPath bounds an address that is looked up: 32 segments of 80 letters of four bytes fit well.
const maxPath = 12 << 10

// below returns the decoded rest of the path after prefix. What no note can be called is not found.
func below(r *http.Request, prefix string) (string, error) {
	rest := strings.TrimPrefix(r.URL.Path, prefix)
	if rest == "" || len(rest) > maxPath || !utf8.ValidString(rest) || strings.ContainsRune(rest, 0) {
		return "", edge.ErrNotFound
	}
	return rest, nil
}

func notFound(err error) bool { return op.CodeOf(err) == op.NotFound }

// atCanonical reports whether the request came by the one address that the page has. Percent-encoding in
// lower case is the same address (RFC 3986, 6.2.2.1).
func atCanonical(r *http.Request, address string) bool {
	return strings.EqualFold(r.URL.EscapedPath(), address) && r.URL.Path == unescaped(address)
}

// question returns a search term or a filter from the address as text that can be stored and compared.
func question(r *http.Request, name string, limit int) string {
	text := strings.ToValidUTF8(r.URL.Query().Get(name), "")
	text = strings.TrimSpace(strings.ReplaceAll(text, "\x00", ""))
	if utf8.RuneCountInString(text) > limit {
		text = string([]rune(text)[:limit])
	}
	return text
}

func links(crumbs []corpus.Crumb) []ui.Link {
	out := make([]ui.Link, 0, len(crumbs))
	for _, c := range crumbs {
		out = append(out, ui.Link{Label: c.Title, Href: c.Address})
	}
	return out
}
