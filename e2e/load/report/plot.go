package report

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// Plot is a line chart. Its axis of x is logarithmic: amounts are tried in
// steps that double.
type Plot struct {
	File   string // name of the SVG file
	Title  string
	X, Y   string // what the axes show, with units
	Series []Series
	LogY   bool
}

// Series is one line, labelled at its end.
type Series struct {
	Name   string
	Points []Point
}

// Point is one measurement.
type Point struct{ X, Y float64 }

// The picture's measures, in pixels.
const (
	width, height            = 760, 400
	left, right, top, bottom = 70, 150, 50, 50
)

// style keeps to the light and dark of whoever looks.
const style = `<style>
text{font:13px system-ui,sans-serif;fill:#333}.title{font-size:16px;font-weight:600}.grid{stroke:#ddd}.axis{stroke:#888}
.line{fill:none;stroke-width:2}.c0{stroke:#0b6e4f}.c1{stroke:#b3541e}.c2{stroke:#3a5ba0}.c3{stroke:#7d3c98}
.d0{fill:#0b6e4f}.d1{fill:#b3541e}.d2{fill:#3a5ba0}.d3{fill:#7d3c98}
@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#444}.axis{stroke:#999}
.c0{stroke:#4cc49a}.c1{stroke:#e8935e}.c2{stroke:#8fb0f0}.c3{stroke:#c79be0}.d0{fill:#4cc49a}.d1{fill:#e8935e}.d2{fill:#8fb0f0}.d3{fill:#c79be0}}
</style>`

// SVG is the picture.
func (p Plot) SVG() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n%s\n", width, height, html.EscapeString(p.Title), style)
	fmt.Fprintf(&b, `<text class="title" x="%d" y="24">%s</text>`+"\n", left, html.EscapeString(p.Title))
	xs, ys := p.scales()
	p.axes(&b, xs, ys)
	for i, s := range p.Series {
		s.line(&b, i%4, xs, ys)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// scale maps values of low to high onto pixels from to to.
type scale struct {
	low, high, from, to float64
	log                 bool
}

func (s scale) at(v float64) float64 {
	low, high := s.low, s.high
	if s.log {
		v, low, high = math.Log(v), math.Log(low), math.Log(high)
	}
	if high == low {
		return (s.from + s.to) / 2
	}
	return s.from + (v-low)/(high-low)*(s.to-s.from)
}

func (p Plot) scales() (x, y scale) {
	var xs, ys []float64
	for _, s := range p.Series {
		for _, pt := range s.Points {
			xs, ys = append(xs, pt.X), append(ys, pt.Y)
		}
	}
	if len(xs) == 0 {
		xs, ys = []float64{1}, []float64{1}
	}
	x = scale{slices.Min(xs), slices.Max(xs), left, width - right, true}
	y = scale{0, round(slices.Max(ys)), height - bottom, top, false}
	if p.LogY {
		y.low, y.high, y.log = math.Pow(10, math.Floor(math.Log10(max(slices.Min(ys), 1e-3)))), math.Pow(10, math.Ceil(math.Log10(slices.Max(ys)))), true
	}
	return x, y
}

// round is the next 1, 2 or 5 with zeros.
func round(v float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(max(v, 1e-9))))
	for _, step := range []float64{1, 2, 3, 4, 5, 6, 8, 10} {
		if step*unit >= v {
			return step * unit
		}
	}
	return v
}

func (s scale) ticks() []float64 {
	var out []float64
	if s.log {
		for v := s.low; v <= s.high*1.001; v *= 10 {
			out = append(out, v)
		}
		return out
	}
	for i := range 5 {
		out = append(out, s.high*float64(i)/4)
	}
	return out
}

func (p Plot) axes(b *strings.Builder, xs, ys scale) {
	for _, v := range ys.ticks() {
		y := ys.at(v)
		fmt.Fprintf(b, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", left, width-right, y, y, left-8, y+4, Number(v))
	}
	var seen []float64
	for _, s := range p.Series {
		for _, pt := range s.Points {
			if !slices.Contains(seen, pt.X) {
				seen = append(seen, pt.X)
				fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", xs.at(pt.X), height-bottom+20, Number(pt.X))
			}
		}
	}
	fmt.Fprintf(b, `<line class="axis" x1="%d" x2="%d" y1="%d" y2="%d"/>`+"\n", left, width-right, height-bottom, height-bottom)
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">%s</text><text x="%d" y="42">%s</text>`+"\n", (left+width-right)/2, height-8, html.EscapeString(p.X), left, html.EscapeString(p.Y))
}

func (s Series) line(b *strings.Builder, colour int, xs, ys scale) {
	if len(s.Points) == 0 {
		return
	}
	var at []string
	for _, pt := range s.Points {
		x, y := xs.at(pt.X), ys.at(pt.Y)
		at = append(at, fmt.Sprintf("%.1f,%.1f", x, y))
		fmt.Fprintf(b, `<circle class="d%d" cx="%.1f" cy="%.1f" r="3"/>`, colour, x, y)
	}
	last := s.Points[len(s.Points)-1]
	fmt.Fprintf(b, `<polyline class="line c%d" points="%s"/><text x="%.1f" y="%.1f">%s</text>`+"\n", colour, strings.Join(at, " "), xs.at(last.X)+10, ys.at(last.Y)+4, html.EscapeString(s.Name))
}

// table says the same in words, for those who cannot see the picture.
func (p Plot) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |", p.X)
	for _, s := range p.Series {
		fmt.Fprintf(&b, " %s (%s) |", s.Name, p.Y)
	}
	b.WriteString("\n|---:|" + strings.Repeat("---:|", len(p.Series)) + "\n")
	for _, x := range p.xs() {
		fmt.Fprintf(&b, "| %s |", Number(x))
		for _, s := range p.Series {
			i := slices.IndexFunc(s.Points, func(pt Point) bool { return pt.X == x })
			if i < 0 {
				b.WriteString(" |")
				continue
			}
			fmt.Fprintf(&b, " %s |", Number(s.Points[i].Y))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (p Plot) xs() []float64 {
	var out []float64
	for _, s := range p.Series {
		for _, pt := range s.Points {
			out = append(out, pt.X)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
