package report

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Section is a table of figures that belong together.
type Section struct {
	Title   string
	Note    string // about all of them
	Figures []Figure
	print   io.Writer
}

// Report is one run.
type Report struct {
	Machine  Machine
	Took     time.Duration
	Scale    float64  // of the amounts; 1 is the full run, which alone is judged
	Skipped  []string // parts left out on request
	Failed   []string // parts that could not be measured, and why
	sections []*Section
	plots    []Plot
	print    io.Writer
}

// New returns an empty report. Figures are printed to w as they come.
func New(w io.Writer, scale float64) *Report { return &Report{print: w, Scale: scale} }

// Section begins a table.
func (r *Report) Section(title string) *Section {
	s := &Section{Title: title, print: r.print}
	r.sections = append(r.sections, s)
	fmt.Fprintf(r.print, "\n%s\n", title)
	return s
}

// Plot adds a picture.
func (r *Report) Plot(p Plot) { r.plots = append(r.plots, p) }

// Extend adds a line to a picture that is there already.
func (r *Report) Extend(file string, s Series) {
	for i := range r.plots {
		if r.plots[i].File == file {
			r.plots[i].Series = append(r.plots[i].Series, s)
		}
	}
}

// Find makes a reference of a figure measured earlier, nil if there is none
// whose name begins so.
func (r *Report) Find(as, prefix string) *Reference {
	for _, s := range r.sections {
		for _, f := range s.Figures {
			if strings.HasPrefix(f.Name, prefix) {
				return &Reference{Name: as, Value: f.Median(), Unit: f.Unit}
			}
		}
	}
	return nil
}

// Add adds a figure.
func (s *Section) Add(f Figure) {
	s.Figures = append(s.Figures, f)
	fmt.Fprintf(s.print, "  %-76s %14s  %-10s %s %s\n", f.Name, amount(f.Median(), f.Unit), f.Bar.text(f.Unit), strings.Trim(string(f.Verdict()), "*"), f.ratio())
}

// Latency adds the median and the 99th percentile of times.
func (s *Section) Latency(name string, times []time.Duration, p50, p99 float64, note string) {
	note = strings.TrimPrefix(fmt.Sprintf("%s; %d samples", note, len(times)), "; ")
	s.Add(Figure{Name: name + ", p50", Values: []float64{Milliseconds(Quantile(times, 0.5))}, Unit: "ms", Bar: AtMost(p50)})
	s.Add(Figure{Name: name + ", p99", Values: []float64{Milliseconds(Quantile(times, 0.99))}, Unit: "ms", Bar: AtMost(p99), Note: note})
}

func (f Figure) ratio() string {
	if f.Ref == nil || f.Ref.Value == 0 {
		return ""
	}
	return fmt.Sprintf("%s × %s (%s)", Number(f.Median()/f.Ref.Value), f.Ref.Name, amount(f.Ref.Value, f.Ref.Unit))
}

// Write puts results.md and the pictures into dir.
func (r *Report) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of the results: %w", err)
	}
	for _, p := range r.plots {
		if err := os.WriteFile(filepath.Join(dir, p.File), []byte(p.SVG()), 0o644); err != nil {
			return fmt.Errorf("write a plot: %w", err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "results.md"), []byte(r.Markdown()), 0o644); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return nil
}

// Markdown is the whole report.
func (r *Report) Markdown() string {
	var b strings.Builder
	met, judged := r.count()
	b.WriteString("# Measured\n\nWritten by `make bench`. PostgreSQL, server, receiver and load generator share one machine.\n")
	b.WriteString("Medians of the rounds, with the lowest and the highest where there were several. A ratio compares with something measured in the same run.\n\n")
	if r.Scale == 1 {
		fmt.Fprintf(&b, "**%d of %d bars met.** The run took %s.\n\n", met, judged, r.Took.Round(time.Second))
	} else {
		fmt.Fprintf(&b, "**A trial with %s of the usual amounts: its figures say nothing about the bars.** It took %s.\n\n", Number(r.Scale), r.Took.Round(time.Second))
	}
	if len(r.Skipped) > 0 {
		fmt.Fprintf(&b, "Left out on request: %s.\n\n", strings.Join(r.Skipped, ", "))
	}
	for _, f := range r.Failed {
		why, _, _ := strings.Cut(f, "\n")
		fmt.Fprintf(&b, "**Not measured:** %s.\n\n", why)
	}
	b.WriteString(r.Machine.markdown())
	for _, s := range r.sections {
		s.markdown(&b, r.Scale == 1)
	}
	if len(r.plots) > 0 {
		b.WriteString("\n## Curves\n")
	}
	for _, p := range r.plots {
		fmt.Fprintf(&b, "\n![%s](%s)\n\n%s", p.Title, p.File, p.table())
	}
	return b.String()
}

func (r *Report) count() (met, judged int) {
	for _, s := range r.sections {
		for _, f := range s.Figures {
			switch f.Verdict() {
			case Met:
				met, judged = met+1, judged+1
			case NotMet:
				judged++
			}
		}
	}
	return met, judged
}

func (s *Section) markdown(b *strings.Builder, judged bool) {
	if len(s.Figures) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n| figure | median | rounds | ratio to a reference | bar | |\n|---|---:|---|---|---|---|\n", s.Title)
	for _, f := range s.Figures {
		verdict := f.Verdict()
		if !judged {
			verdict = NoBar
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", cell(f.Name), amount(f.Median(), f.Unit), spread(f.Values),
			cell(f.ratio()), f.Bar.text(f.Unit), verdict)
	}
	if s.Note != "" {
		fmt.Fprintf(b, "\n%s.\n", strings.TrimRight(s.Note, "."))
	}
	for _, f := range s.Figures {
		if f.Note != "" {
			fmt.Fprintf(b, "\n- %s: %s.", f.Name, strings.TrimRight(f.Note, "."))
		}
	}
	b.WriteString("\n")
}

func spread(values []float64) string {
	if len(values) < 2 {
		return ""
	}
	low, high := values[0], values[0]
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	return fmt.Sprintf("%s–%s of %d", Number(low), Number(high), len(values))
}

func cell(text string) string { return cmp.Or(strings.ReplaceAll(text, "|", `\|`), " ") }
