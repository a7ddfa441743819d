package report

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Figure is one line of the table.
type Figure struct {
	Name string
	// Values are what was measured, one a round. The median is shown, and how
	// far the rounds lay apart.
	Values []float64
	Unit   string
	Bar    Bar
	Ref    *Reference
	Note   string // how it was measured, or what else is worth knowing
}

// Reference is what the same machine did in the same run with less in between.
type Reference struct {
	Name  string
	Value float64
	Unit  string
}

// Bar is what a figure is wished to keep to; zero is no bound.
type Bar struct{ Least, Most float64 }

// AtLeast is a bar that a figure has to reach.
func AtLeast(v float64) Bar { return Bar{Least: v} }

// AtMost is a bar that a figure must not pass.
func AtMost(v float64) Bar { return Bar{Most: v} }

// Verdict is how a figure stands to its bar.
type Verdict string

// A figure without a bar has no verdict.
const (
	NoBar  Verdict = ""
	Met    Verdict = "met"
	NotMet Verdict = "**not met**"
)

// Median is the middle of the rounds, 0 without any.
func (f Figure) Median() float64 { return median(f.Values) }

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}

// Verdict compares the median with the bar.
func (f Figure) Verdict() Verdict {
	switch {
	case f.Bar == Bar{}:
		return NoBar
	case f.Bar.Least > 0 && f.Median() < f.Bar.Least, f.Bar.Most > 0 && f.Median() > f.Bar.Most:
		return NotMet
	}
	return Met
}

func (b Bar) text(unit string) string {
	switch {
	case b.Least > 0:
		return "≥ " + amount(b.Least, unit)
	case b.Most > 0:
		return "≤ " + amount(b.Most, unit)
	}
	return ""
}

// Number writes v with as many digits as mean something.
func Number(v float64) string {
	size := max(v, -v)
	switch {
	case size >= 1000:
		return thousands(strconv.FormatFloat(v, 'f', 0, 64))
	case size >= 100 || v == float64(int64(v)):
		return strconv.FormatFloat(v, 'f', 0, 64)
	case size >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

func thousands(digits string) string {
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

func amount(v float64, unit string) string {
	switch unit {
	case "":
		return Number(v)
	case "/s":
		return Number(v) + unit
	}
	return fmt.Sprintf("%s %s", Number(v), unit)
}

// Quantile is the q-th part of a list of times, 0 of none.
func Quantile(list []time.Duration, q float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// Milliseconds is d as a number.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
