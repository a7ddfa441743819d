package public

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"net/http"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// sitemapLimit is the most addresses that one sitemap may hold (sitemaps.org).
const sitemapLimit = 50_000

var errSitemapFull = errors.New("the sitemap is full")

func (s *Site) sitemap(w http.ResponseWriter, r *http.Request) error {
	body, err := s.mapped.get(r.Context(), s.notes.PublicStamp, s.drawMap)
	if err != nil {
		return err
	}
	edge.WriteRevalidated(w, r, "application/xml; charset=utf-8", body)
	return nil
}

// drawMap writes the sitemap.
func (s *Site) drawMap(ctx context.Context) ([]byte, error) {
	base := ui.EnvFrom(ctx).Site.BaseURL
	var out bytes.Buffer
	out.WriteString(xml.Header + `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n")
	n := 0
	add := func(address string, changed time.Time) error {
		if n++; n > sitemapLimit {
			return errSitemapFull
		}
		out.WriteString("<url><loc>")
		if err := xml.EscapeText(&out, []byte(base+address)); err != nil {
			return err
		}
		out.WriteString("</loc>")
		if !changed.IsZero() {
			out.WriteString("<lastmod>" + stamp(changed) + "</lastmod>")
		}
		out.WriteString("</url>\n")
		return nil
	}
	for _, address := range []string{"/", "/wiki/", "/writing/", "/tags/"} {
		if err := add(address, time.Time{}); err != nil {
			return nil, err
		}
	}
	if err := s.notes.PublicSitemap(ctx, add); err != nil && !errors.Is(err, errSitemapFull) {
		return nil, err
	}
	out.WriteString("</urlset>\n")
	return out.Bytes(), nil
}

func (s *Site) robots(w http.ResponseWriter, r *http.Request) error {
	text := "User-agent: *\nDisallow: /admin/\nDisallow: /search\nDisallow: /login\n"
	if base := ui.EnvFrom(r.Context()).Site.BaseURL; base != "" {
		text += "\nSitemap: " + base + "/sitemap.xml\n"
	}
	edge.WriteRevalidated(w, r, "text/plain; charset=utf-8", []byte(text))
	return nil
}
