package assets

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"strings"
)

//go:embed files
var files embed.FS

// Prefix is the path below which every asset is served.
const Prefix = "/assets/"

// bundle is one served file and the sources it is joined from, in order.
type bundle struct {
	name    string
	sources []string
}

// bundles lists every served file. A stylesheet may name in url(…) only files that
// stand above it: their hashed names are put in while it is joined.
func bundles() []bundle {
	return []bundle{
		{"icons.svg", []string{"icons.svg"}},
		{"callouts.svg", []string{"callouts.svg"}},
		{"favicon.svg", []string{"favicon.svg"}},
		{"site.webmanifest", []string{"site.webmanifest"}},
		{"licenses.txt", []string{"licenses.txt"}},
		{"house.css", []string{"tokens.css", "base.css", "prose.css"}},
		{"panel.css", []string{"panel.css"}},
		{"public.css", []string{"public.css"}},
		{"panel.js", []string{"htmx.js", "controls.js", "stream.js"}},
	}
}

// file is one served asset, ready to be written.
type file struct {
	path        string // "/assets/panel.3f9c1a0b7d.css"
	contentType string
	plain       []byte
	gzipped     []byte // nil where gzip does not make it smaller
	etag        string
}

// Set is the built collection of assets. It is immutable and safe for concurrent use.
type Set struct {
	byName map[string]*file
	byPath map[string]*file
}

// New joins, hashes and compresses the embedded files, which takes some milliseconds:
// call it once. It panics when an embedded file is missing or named wrongly, since the
// binary itself would then be broken.
func New() *Set {
	set := &Set{byName: map[string]*file{}, byPath: map[string]*file{}}
	for _, b := range bundles() {
		built, err := set.build(b)
		if err != nil {
			panic(fmt.Sprintf("assets: building %s: %v", b.name, err))
		}
		set.byName[b.name] = built
		set.byPath[built.path] = built
	}
	return set
}

// Path returns the address of a served file, for example Path("panel.css"). It panics on
// a name that is not in the bundle table: that is a mistake in a template, and the first
// test that renders the page finds it.
func (s *Set) Path(name string) string {
	f, ok := s.byName[name]
	if !ok {
		panic("assets: no such file: " + name)
	}
	return f.path
}

// Icon returns the address of one symbol in the icon sprite, for <use href>.
func (s *Set) Icon(name string) string { return s.Path("icons.svg") + "#" + name }

func (s *Set) build(b bundle) (*file, error) {
	var joined bytes.Buffer
	for _, source := range b.sources {
		text, err := files.ReadFile("files/" + source)
		if err != nil {
			return nil, err
		}
		if !vendored(source) {
			text = slim(text)
		}
		joined.Write(text)
		joined.WriteByte('\n')
	}
	content := joined.Bytes()
	extension := path.Ext(b.name)
	if extension == ".css" {
		var err error
		if content, err = s.linkStyles(content); err != nil {
			return nil, err
		}
	}
	zipped, err := squeeze(content)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	hash := hex.EncodeToString(sum[:5])
	return &file{
		path:        Prefix + strings.TrimSuffix(b.name, extension) + "." + hash + extension,
		contentType: contentTypes()[extension],
		plain:       content,
		gzipped:     zipped,
		etag:        `"` + hash + `"`,
	}, nil
}

var (
	blockComment = regexp.MustCompile(`(?s)/\*.*?\*/`)
	indentation  = regexp.MustCompile(`\s*\n\s*`)
	styleURL     = regexp.MustCompile(`url\(([a-z.]+)\)`)
)

// vendored reports whether a source is another project's file, served unchanged.
func vendored(source string) bool { return source == "htmx.js" }

// slim drops what a browser does not need and a reader does: block comments and
// indentation. Line ends stay, so nothing depends on where a statement ends.
func slim(text []byte) []byte {
	text = blockComment.ReplaceAll(text, nil)
	return append(bytes.TrimSpace(indentation.ReplaceAll(text, []byte("\n"))), '\n')
}

// linkStyles puts hashed names into url(…).
func (s *Set) linkStyles(text []byte) ([]byte, error) {
	var missing string
	text = styleURL.ReplaceAllFunc(text, func(match []byte) []byte {
		name := string(styleURL.FindSubmatch(match)[1])
		f, ok := s.byName[name]
		if !ok {
			missing = name
			return match
		}
		return []byte("url(" + f.path + ")")
	})
	if missing != "" {
		return nil, fmt.Errorf("url(%s): not a file built before this one", missing)
	}
	return text, nil
}

func squeeze(content []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if out.Len() >= len(content) {
		return nil, nil
	}
	return out.Bytes(), nil
}

func contentTypes() map[string]string {
	return map[string]string{
		".css":         "text/css; charset=utf-8",
		".js":          "text/javascript; charset=utf-8",
		".svg":         "image/svg+xml",
		".txt":         "text/plain; charset=utf-8",
		".webmanifest": "application/manifest+json",
	}
}
