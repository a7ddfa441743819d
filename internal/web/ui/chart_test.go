package ui_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

func TestChartHasTheSameNumbersAsATable(t *testing.T) {
	t.Parallel()
	html := render(t, ui.LineChart(ui.Chart{Title: "Finished an hour", Labels: []string{"09:00", "10:00"}, Lines: []ui.Line{
		{Label: "completed", Colour: "emerald", Values: []float64{120, 1318}}, {Label: "failed", Colour: "rose", Values: []float64{0, 0.5}},
	}}))
	wants(t, html, `role="img"`, `<th scope="row">10:00</th>`, `<td class="num">1`+"\u202f"+`318</td>`, `<td class="num">0.5</td>`, `<g class="rose">`)
}

func TestChartOfNothingStillDraws(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]ui.Chart{
		"no lines":  {Title: "T"},
		"no values": {Title: "T", Labels: []string{"1"}, Lines: []ui.Line{{Label: "a"}}},
		"zeroes":    {Title: "T", Labels: []string{"1", "2"}, Lines: []ui.Line{{Label: "a", Values: []float64{0, 0}}}},
		"one point": {Title: "T", Labels: []string{"1"}, Lines: []ui.Line{{Label: "a", Values: []float64{3}}}},
	} {
		if html := render(t, ui.LineChart(c)); strings.Contains(html, "NaN") || strings.Contains(html, "Inf") {
			t.Errorf("%s: %s", name, html)
		}
	}
}

func TestChartHasGapsWhereNothingIsKnown(t *testing.T) {
	t.Parallel()
	gap := ui.Gap()
	html := render(t, ui.LineChart(ui.Chart{Title: "T", Labels: []string{"1", "2", "3", "4", "5", "6"}, Lines: []ui.Line{
		{Label: "a", Values: []float64{gap, 5, 5, gap, 7, gap}}, {Label: "b", Values: []float64{gap, gap, gap, gap, gap, gap}}}}))
	if n := strings.Count(html, "<polyline"); n != 2 {
		t.Errorf("%d pieces, want 2", n)
	}
	if strings.Contains(html, "NaN") {
		t.Error("a gap is written as a number")
	}
	wants(t, html, `>7 a<`, `<td class="num">–</td>`)
}

func TestChartLabelsDoNotCoverEachOther(t *testing.T) {
	t.Parallel()
	html := render(t, ui.LineChart(ui.Chart{Title: "T", Labels: []string{"1", "2"}, Lines: []ui.Line{
		{Label: "a", Values: []float64{100, 10}}, {Label: "b", Values: []float64{0, 9}}, {Label: "c", Values: []float64{0, 11}},
	}}))
	at := map[string]string{}
	for _, m := range regexp.MustCompile(`class="direct" x="[\d.]+" y="([\d.]+)">\d+ (\w)<`).FindAllStringSubmatch(html, -1) {
		at[m[2]] = m[1]
	}
	if len(at) != 3 || at["a"] == at["b"] || at["b"] == at["c"] || at["a"] == at["c"] {
		t.Errorf("labels stand at %v", at)
	}
}
