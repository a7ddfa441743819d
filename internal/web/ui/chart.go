package ui

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Chart is a few lines over the same moments.
type Chart struct {
	Title  string   // what it shows: "Tasks finished an hour"
	Labels []string // one a point, oldest first: "09:00"
	Lines  []Line
}

// Line is one row of values, labelled at its end.
type Line struct {
	Label  string
	One    string    // the label beside a 1: "task" for "tasks"; Label when empty
	Colour string    // a state colour: "emerald", "rose"
	Values []float64 // NaN: nothing is known of that moment, and the line has a gap
}

// Gap is the value of a moment of which nothing is known.
func Gap() float64 { return math.NaN() }

// The drawing area in user units; the picture scales with its box.
const (
	chartWidth, chartHeight                    = 520, 180
	chartLeft, chartRight, chartTop, chartFoot = 44, 108, 10, 24
)

func (c Chart) peak() float64 {
	peak := 0.0
	for _, l := range c.Lines {
		for _, v := range l.Values {
			if v > peak { // false for a gap
				peak = v
			}
		}
	}
	return niceCeiling(peak)
}

// marks are the values that the axis names. There is no half of what is counted in whole ones.
func (c Chart) marks() []float64 {
	half := c.peak() / 2
	whole := func(l Line) bool {
		return !slices.ContainsFunc(l.Values, func(v float64) bool { return !math.IsNaN(v) && v != math.Trunc(v) })
	}
	if half != math.Trunc(half) && !slices.ContainsFunc(c.Lines, func(l Line) bool { return !whole(l) }) {
		return []float64{0, c.peak()}
	}
	return []float64{0, half, c.peak()}
}

// niceCeiling rounds up to 1, 2 or 5 times a power of ten, so that the axis reads easily.
func niceCeiling(v float64) float64 {
	if v <= 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, step := range []float64{1, 2, 5, 10} {
		if v <= step*power {
			return step * power
		}
	}
	return 10 * power
}

func (c Chart) x(i int) float64 {
	last := max(len(c.Labels)-1, 1)
	return chartLeft + float64(i)*float64(chartWidth-chartLeft-chartRight)/float64(last)
}

func (c Chart) y(v float64) float64 {
	return chartHeight - chartFoot - v/c.peak()*(chartHeight-chartTop-chartFoot)
}

// pieces are the parts of a line between its gaps, each as the points of a polyline. A piece of one point has that point
// twice, or nothing would be drawn.
func (c Chart) pieces(l Line) []string {
	var all []string
	var piece []string
	end := func() {
		if len(piece) == 1 {
			piece = append(piece, piece[0])
		}
		if len(piece) > 0 {
			all = append(all, strings.Join(piece, " "))
		}
		piece = nil
	}
	for i, v := range l.Values {
		if math.IsNaN(v) {
			end()
			continue
		}
		piece = append(piece, fmt.Sprintf("%.1f,%.1f", c.x(i), c.y(v)))
	}
	end()
	return all
}

// known reports whether any line has a value at the i-th moment.
func (c Chart) known(i int) bool {
	return slices.ContainsFunc(c.Lines, func(l Line) bool { return i < len(l.Values) && !math.IsNaN(l.Values[i]) })
}

// gaps reports whether there is a moment that nothing is known of.
func (c Chart) gaps() bool {
	for i := range c.Labels {
		if !c.known(i) {
			return true
		}
	}
	return false
}

// newest says the last known value in words.
func (l Line) newest() string {
	if l.One != "" && l.last() == 1 {
		return "1 " + l.One
	}
	return number(l.last()) + " " + l.Label
}

// lastAt is the index of the last known value, -1 if there is none.
func (l Line) lastAt() int {
	i := len(l.Values) - 1
	for i >= 0 && math.IsNaN(l.Values[i]) {
		i--
	}
	return i
}

// last is the last known value.
func (l Line) last() float64 {
	if i := l.lastAt(); i >= 0 {
		return l.Values[i]
	}
	return 0
}

// labelYs places a label at each line's end, in the lines' order from the lowest up, so that
// none covers another.
func (c Chart) labelYs() []float64 {
	const apart = 15
	order := make([]int, len(c.Lines))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.Lines[a].last(), c.Lines[b].last()) })
	at, below := make([]float64, len(c.Lines)), math.Inf(1)
	for _, i := range order {
		at[i] = math.Min(c.y(c.Lines[i].last())+4, below-apart)
		below = at[i]
	}
	return at
}

// ticks are the points of the time axis that are labelled: at most six.
func (c Chart) ticks() []int {
	step := max((len(c.Labels)+5)/6, 1)
	var at []int
	for i := 0; i < len(c.Labels); i += step {
		at = append(at, i)
	}
	return at
}

func coordinate(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// number writes a value of a chart without needless digits: 0.5, 12, 1 240.
func number(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	if v == math.Trunc(v) {
		return Count(int64(v))
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

// sparkPoints draws values into a box of 96 by 24.
func sparkPoints(values []float64) string {
	peak := 0.0
	for _, v := range values {
		peak = math.Max(peak, v)
	}
	if peak == 0 {
		peak = 1
	}
	var b strings.Builder
	for i, v := range values {
		fmt.Fprintf(&b, "%.1f,%.1f ", 1+float64(i)*94/float64(max(len(values)-1, 1)), 22-v/peak*20)
	}
	return strings.TrimSpace(b.String())
}
