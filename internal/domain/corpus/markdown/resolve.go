package markdown

import (
	"context"
	"html"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// page is the work of one Render: what was asked of the Resolver, and how much has been embedded.
type page struct {
	ctx      context.Context
	renderer *Renderer
	opts     Options
	words    Words
	plain    bool   // for text only: nothing embedded, nothing highlighted
	own      string // the source being rendered, for embeds of its own parts

	notes   map[lookup]found[Note]
	files   map[lookup]found[File]
	tags    []string
	seenTag map[string]bool
	used    []File
	embeds  int // so far
	bytes   int // of embedded source so far
}

type lookup struct{ target, from string }

type found[T any] struct {
	it T
	ok bool
}

// frame is the note being rendered: the page's own, or one embedded in it.
type frame struct {
	from string   // the note's ID
	href string   // "" for the page's own note
	open []string // notes and parts being embedded, outermost first
}

// maxLookups bounds how many different targets one page asks about; further ones do not resolve.
const maxLookups = 5000

func (p *page) note(target string, f frame) (Note, bool, error) {
	key := lookup{target, f.from}
	if hit, ok := p.notes[key]; ok {
		return hit.it, hit.ok, nil
	}
	if p.opts.Resolver == nil || len(p.notes) >= maxLookups {
		return Note{}, false, nil
	}
	n, ok, err := p.opts.Resolver.Note(p.ctx, target, f.from)
	if err != nil {
		return Note{}, false, err
	}
	ok = ok && siteAddress(n.Href)
	p.notes[key] = found[Note]{n, ok}
	return n, ok, nil
}

func (p *page) file(target string, f frame) (File, bool, error) {
	key := lookup{target, f.from}
	if hit, ok := p.files[key]; ok {
		return hit.it, hit.ok, nil
	}
	if p.opts.Resolver == nil || len(p.files) >= maxLookups {
		return File{}, false, nil
	}
	file, ok, err := p.opts.Resolver.File(p.ctx, target, f.from)
	if err != nil {
		return File{}, false, err
	}
	ok = ok && siteAddress(file.Href)
	p.files[key] = found[File]{file, ok}
	if ok {
		p.used = append(p.used, file)
	}
	return file, ok, nil
}

// siteAddress tells whether an address stays on this site: one slash first, no host.
func siteAddress(href string) bool {
	return strings.HasPrefix(href, "/") && isInternal(href)
}

// resolve decides every link, image, tag and piece of raw HTML of a tree.
func (p *page) resolve(doc ast.Node, src []byte, f frame) error {
	if err := p.embedNotes(doc, f); err != nil {
		return err
	}
	// Inner before outer: an image's words are read when its own links were decided, so that they name nothing private.
	var nodes []ast.Node
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			nodes = append(nodes, n)
		}
		return ast.WalkContinue, nil
	})
	for _, n := range nodes {
		if err := p.decide(n, src, f); err != nil {
			return err
		}
	}
	return nil
}

func (p *page) decide(n ast.Node, src []byte, f frame) (err error) {
	var to ast.Node
	switch n := n.(type) {
	case *tag:
		p.decideTag(n, f)
		return nil
	case *task:
		n.label = p.words.Open
		if n.done {
			n.label = p.words.Done
		}
		return nil
	case *wikiLink:
		to, err = p.decideWikiLink(n, f)
	case *ast.Link:
		to, err = p.decideLink(string(n.Destination), f)
		moveChildren(n, to)
	case *ast.Image:
		to, err = p.decideImage(string(n.Destination), nodeText(n, src), string(n.Title), f)
	case *ast.AutoLink:
		to = autoLink(n, src)
	case *ast.RawHTML:
		to, err = p.filtered(n.Segments.Value(src), f)
	case *ast.HTMLBlock:
		raw := n.Lines().Value(src)
		if n.HasClosure() {
			raw = append(raw, n.ClosureLine.Value(src)...)
		}
		to, err = p.filtered(raw, f)
	}
	if err == nil && to != nil {
		n.Parent().ReplaceChild(n.Parent(), n, to)
	}
	return err
}

// decideTag links a tag and, if it is the page's own and not an embedded note's, keeps it.
func (p *page) decideTag(n *tag, f frame) {
	if key := strings.ToLower(n.name); len(f.open) == 1 && !p.seenTag[key] {
		p.seenTag[key] = true
		p.tags = append(p.tags, n.name)
	}
	if p.opts.Resolver != nil {
		if href := p.opts.Resolver.Tag(n.name); siteAddress(href) {
			n.href = href
		}
	}
}

// missing is what stands where a link does not resolve: the alias, or a neutral word; the target only for the owner's own eyes.
func (p *page) missing(alias, target, neutral string) ast.Node {
	words := alias
	if words == "" && p.opts.ShowMissing {
		words = target
	}
	if words == "" {
		words = neutral
	}
	return &markup{inlineNode: inline(kindMarkup), html: `<span class="missing">` + html.EscapeString(words) + `</span>`}
}

func (p *page) decideWikiLink(n *wikiLink, f frame) (ast.Node, error) {
	if n.target == "" {
		return &anchor{inlineNode: inline(kindAnchor), href: withFragment(f.href, n.fragment), words: linkWords(n)}, nil
	}
	target := strings.TrimSuffix(n.target, ".md")
	if NamesFile(target) {
		file, ok, err := p.file(target, f)
		if err != nil || ok {
			return fileNode(file, n.alias, "", n.embed), err
		}
	}
	note, ok, err := p.note(target, f)
	if err != nil {
		return nil, err
	}
	if ok {
		return &anchor{inlineNode: inline(kindAnchor), href: withFragment(note.Href, n.fragment), words: linkWords(n)}, nil
	}
	if NamesFile(target) {
		words, _, _ := imageSize(n.alias)
		return p.missing(words, baseName(n.target), p.words.MissingFile), nil
	}
	return p.missing(n.alias, linkWords(n), p.words.MissingNote), nil
}

// fileNode shows an image and links any other file. The page plays no sound or film: its policy allows no media.
func fileNode(file File, alias, title string, show bool) ast.Node {
	words, width, height := imageSize(alias)
	if show && strings.HasPrefix(file.MIME, "image/") {
		if words == "" {
			words = strings.TrimSuffix(file.Name, nameExtension(file.Name))
		}
		return &picture{inlineNode: inline(kindPicture), src: file.Href, alt: words, title: title, width: width, height: height}
	}
	if words == "" {
		words = file.Name
	}
	return &anchor{inlineNode: inline(kindAnchor), href: file.Href, words: words, class: "file"}
}

func nameExtension(name string) string {
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		return name[i:]
	}
	return ""
}

// decideLink gives the node for a Markdown link; the caller moves the link's words into it.
func (p *page) decideLink(dest string, f frame) (ast.Node, error) {
	words := &span{inlineNode: inline(kindSpan), element: "span"}
	if !isInternal(dest) {
		if address := webAddress(dest); address != "" {
			return &anchor{inlineNode: inline(kindAnchor), href: address, words: host(address), class: "external"}, nil
		}
		return words, nil
	}
	target, fragment := splitInternal(dest)
	if target == "" {
		if fragmentID(fragment) == "" {
			return words, nil
		}
		return &anchor{inlineNode: inline(kindAnchor), href: withFragment(f.href, fragment)}, nil
	}
	if NamesFile(target) {
		file, ok, err := p.file(target, f)
		if err != nil || ok {
			return &anchor{inlineNode: inline(kindAnchor), href: file.Href, words: file.Name, class: "file"}, err
		}
	}
	note, ok, err := p.note(target, f)
	if err != nil || ok {
		return &anchor{inlineNode: inline(kindAnchor), href: withFragment(note.Href, fragment), words: note.Title}, err
	}
	return words, nil
}

func (p *page) decideImage(dest, alt, title string, f frame) (ast.Node, error) {
	if !isInternal(dest) {
		return p.remote(dest, alt), nil
	}
	target, _ := splitInternal(dest)
	file, ok, err := p.file(target, f)
	if err != nil || ok {
		return fileNode(file, alt, title, true), err
	}
	words, _, _ := imageSize(alt)
	return p.missing(words, baseName(target), p.words.MissingFile), nil
}

// remote links what another host would have to be asked for: readers of a page are no business of third parties.
func (p *page) remote(dest, words string) ast.Node {
	words, _, _ = imageSize(strings.TrimSpace(words))
	address := webAddress(dest)
	if address == "" || strings.HasPrefix(address, "mailto:") {
		return p.missing(words, "", p.words.MissingFile)
	}
	if words == "" {
		words = p.words.Remote + " " + host(address)
	}
	return &anchor{inlineNode: inline(kindAnchor), href: address, words: words, class: "external remote"}
}

func autoLink(n *ast.AutoLink, src []byte) ast.Node {
	label, dest := string(n.Label(src)), string(n.URL(src))
	if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(dest), "mailto:") {
		dest = "mailto:" + dest
	}
	if address := webAddress(dest); address != "" {
		return &anchor{inlineNode: inline(kindAnchor), href: address, words: label, class: "external"}
	}
	return ast.NewString([]byte(label))
}
