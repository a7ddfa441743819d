package overview

import (
	"math"
	"slices"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// day is how many intervals the charts show.
const day = int(24 * time.Hour / tasks.Interval)

// throughput draws what passed.
func throughput(v view) ui.Chart {
	lines := []line{
		{"events", "event", "sky", func(m tasks.Moment) float64 { return float64(m.Events) }},
		{"tasks done", "task done", "emerald", func(m tasks.Moment) float64 { return float64(m.Completed) }},
		{"tasks failed", "task failed", "rose", func(m tasks.Moment) float64 { return float64(m.Discarded) }},
	}
	if !delivering(v.passed.value) {
		return chart(v, "Events and tasks each ten minutes", lines)
	}
	return chart(v, "Events, tasks and deliveries each ten minutes", append(lines, []line{
		{"delivered", "", "indigo", func(m tasks.Moment) float64 { return float64(m.Delivered) }},
		{"not delivered", "", "orange", func(m tasks.Moment) float64 { return float64(m.Failed) }},
	}...))
}

// delivering: an installation without receivers needs no lines about them.
func delivering(all []tasks.Moment) bool {
	return slices.ContainsFunc(all, func(m tasks.Moment) bool { return m.Delivered+m.Failed > 0 })
}

func backlog(v view) ui.Chart {
	return chart(v, "The most events and tasks that waited in each ten minutes", []line{
		{"events", "event", "sky", func(m tasks.Moment) float64 { return known(m.WaitingEvents) }},
		{"tasks", "task", "amber", func(m tasks.Moment) float64 { return known(m.WaitingTasks) }},
	})
}

func known(n *int) float64 {
	if n == nil {
		return math.NaN()
	}
	return float64(*n)
}

type line struct {
	label, one, colour string
	of                 func(tasks.Moment) float64
}

// chart lays the intervals of a day side by side; one that nobody looked at is a gap.
func chart(v view, title string, lines []line) ui.Chart {
	first := v.now.Truncate(tasks.Interval).Add(-time.Duration(day-1) * tasks.Interval)
	c := ui.Chart{Title: title, Labels: make([]string, day)}
	for i := range c.Labels {
		c.Labels[i] = first.Add(time.Duration(i) * tasks.Interval).In(v.zone).Format("15:04")
	}
	for _, l := range lines {
		values := make([]float64, day)
		for i := range values {
			values[i] = math.NaN()
		}
		for _, m := range v.passed.value {
			if i := int(m.At.Sub(first) / tasks.Interval); i >= 0 && i < day && !m.At.Before(first) {
				values[i] = l.of(m)
			}
		}
		c.Lines = append(c.Lines, ui.Line{Label: l.label, One: l.one, Colour: l.colour, Values: values})
	}
	return c
}
