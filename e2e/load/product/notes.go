package product

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gatehouse-hq/gatehouse/e2e/blackbox"
	"github.com/gatehouse-hq/gatehouse/e2e/load/lab"
	"github.com/gatehouse-hq/gatehouse/e2e/load/report"
)

// Notes measures a note's way to search, an import, and the public pages of a
// site that holds many.
func Notes(ctx context.Context, l *lab.Lab, r *report.Report) error {
	return With(ctx, l, 4*time.Minute, func(ctx context.Context, s *Site) error {
		section := r.Section("Notes and search")
		if err := s.savedToFound(ctx, l, section); err != nil {
			return err
		}
		if err := s.importMany(ctx, l, section); err != nil {
			return err
		}
		return s.publicPages(ctx, l, r.Section("Public pages, p95 of the time to the first byte"))
	})
}

// savedToFound is the time of corpus.create whose receipt says indexed.
func (s *Site) savedToFound(ctx context.Context, l *lab.Lab, section *report.Section) error {
	var took []time.Duration
	late := 0
	for i := range l.N(400) {
		var receipt struct {
			Indexed bool `json:"indexed"`
		}
		began := time.Now()
		err := s.Owner.Call(ctx, s.Server, "corpus.create", map[string]any{"genre": "wiki",
			"title": fmt.Sprintf("Measured %d", i), "body": "plum " + strings.Repeat("words go here ", 100), "published": true}, &receipt)
		if err != nil {
			return err
		}
		took = append(took, time.Since(began))
		if !receipt.Indexed {
			late++
		}
	}
	section.Latency("note saved → found in search", took, 50, 300, fmt.Sprintf("corpus.create over HTTP until its receipt says indexed, one after another; %d without that receipt", late))
	return nil
}

// importMany imports notes and waits until search has every one.
func (s *Site) importMany(ctx context.Context, l *lab.Lab, section *report.Section) error {
	n := l.N(2000)
	before, err := s.indexJobs(ctx)
	if err != nil {
		return err
	}
	stored, found, err := s.importVault(ctx, "Imported", n)
	if err != nil {
		return err
	}
	after, err := s.indexJobs(ctx)
	if err != nil {
		return err
	}
	discarded, err := s.Count(ctx, `select count(*) from river.river_job where kind = 'corpus.index' and state = 'discarded'`)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("import of %s linked notes", report.Number(float64(n)))
	section.Add(report.Figure{Name: name + ": all searchable", Values: []float64{found.Seconds()}, Unit: "s", Bar: report.AtMost(20), Note: fmt.Sprintf("all were stored after %.1f s", stored.Seconds())})
	section.Add(report.Figure{Name: name + ": index jobs", Values: []float64{after - before}, Bar: report.AtMost(2050)})
	section.Add(report.Figure{Name: name + ": index jobs discarded", Values: []float64{discarded}})
	mb, err := s.memory("VmHWM")
	section.Add(report.Figure{Name: "resident memory, highest until then", Values: []float64{mb}, Unit: "MB", Bar: report.AtMost(150)})
	return err
}

func (s *Site) indexJobs(ctx context.Context) (float64, error) {
	return s.Count(ctx, `select count(*) from river.river_job where kind = 'corpus.index'`)
}

// importVault writes a vault of n linked notes whose titles begin with prefix
// and imports it.
func (s *Site) importVault(ctx context.Context, prefix string, n int) (stored, found time.Duration, err error) {
	dir := filepath.Join(s.dir, "vault "+prefix)
	for i := range n {
		folder := filepath.Join(dir, fmt.Sprintf("%s folder %d", prefix, i%40))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return 0, 0, err
		}
		body := fmt.Sprintf("---\npublish: true\n---\nSee [[%[1]s %[2]d]] and [[%[1]s %[3]d]]. %[4]s", prefix, (i*7)%n, (i*13)%n, strings.Repeat("some words here ", 60))
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%s %d.md", prefix, i)), []byte(body), 0o600); err != nil {
			return 0, 0, err
		}
	}
	began := time.Now()
	if out, err := s.Server.Command("import", dir).CombinedOutput(); err != nil {
		return 0, 0, fmt.Errorf("import: %w: %s", err, out)
	}
	stored = time.Since(began)
	err = blackbox.Eventually(ctx, 3*time.Minute, func() error {
		found, err := s.Count(ctx, `select count(*) from search_documents d join notes n using (id) where n.title like $1 || ' %' and d.version = n.version`, prefix)
		if err == nil && int(found) < n {
			err = fmt.Errorf("%.0f of %d notes are searchable", found, n)
		}
		return err
	})
	return stored, time.Since(began), err
}

// publicPages measures what visitors get of a site with 5,000 notes.
func (s *Site) publicPages(ctx context.Context, l *lab.Lab, section *report.Section) error {
	if _, _, err := s.importVault(ctx, "More", l.N(3000)); err != nil {
		return err
	}
	notes, err := s.Count(ctx, `select count(*) from notes`)
	if err != nil {
		return err
	}
	section.Note = fmt.Sprintf("%s notes in the database; one visitor, one request after another", report.Number(notes))
	return Slowest(ctx, section, []Page{
		{"front page", "/"}, {"a note", "/wiki/imported-folder-0/imported-0"}, {"search, many hits", "/search?q=words"}, {"search, few hits", "/search?q=imported+0"},
		{"Atom feed", "/feed.xml"}, {"sitemap", "/sitemap.xml"},
	}, l.N(100), report.AtMost(50), FirstByte(s.AsVisitor))
}
