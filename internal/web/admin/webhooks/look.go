package webhooks

import (
	"fmt"
	"strconv"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// lookOf is how an endpoint's status appears.
func lookOf(e webhooks.Endpoint) ui.Look {
	switch {
	case e.Deleted:
		return ui.Look{Colour: "slate", Icon: "trash-2", Word: "deleted"}
	case e.Status == webhooks.On:
		return ui.Look{Colour: "emerald", Icon: "circle-check", Word: "on"}
	case e.Status == webhooks.Off:
		return ui.Look{Colour: "rose", Icon: "circle-x", Word: "off"}
	}
	return ui.LookOf(string(e.Status))
}

// outcomeOf is how the outcome of an attempt appears.
func outcomeOf(outcome string) ui.Look {
	look := ui.LookOf(stateOf(outcome))
	switch outcome {
	case "redirected":
		look.Word = "redirected, not followed"
	case "snoozed":
		look.Word = "asked to wait"
	case "retryable":
		look.Word = "failed for now"
	case "refused":
		look.Word = "address refused"
	default:
		look.Word = outcome
	}
	return look
}

func stateOf(outcome string) string {
	switch outcome {
	case "delivered", "retryable":
		return outcome
	case "snoozed":
		return "waiting"
	case "interrupted":
		return "uncertain"
	}
	return "failed"
}

func name(e webhooks.Endpoint) string {
	if e.Description != "" {
		return e.Description
	}
	return e.URL
}

func count(c webhooks.Count) string {
	if c.AtLeast {
		return ui.Count(c.N) + "+"
	}
	return ui.Count(c.N)
}

// some says how many there are of something: "1 delivery", "12 deliveries".
func some(c webhooks.Count) string {
	if c.N == 1 && !c.AtLeast {
		return "1 delivery"
	}
	return count(c) + " deliveries"
}

func rate(h webhooks.Health) string {
	if h.SuccessRate < 0 {
		return "–"
	}
	if h.Failed > 0 && h.SuccessRate > 0.999 {
		return "99.9 %" // never 100 while something failed
	}
	return strconv.FormatFloat(h.SuccessRate*100, 'f', 1, 64) + " %"
}

func millis(ms float64) string {
	if ms <= 0 {
		return "–"
	}
	return ui.Span(time.Duration(ms * float64(time.Millisecond)))
}

func latency(h webhooks.Health) string {
	if h.Attempts == 0 {
		return "–"
	}
	return millis(h.P50MS) + " / " + millis(h.P95MS)
}

func attemptsWord(n int) string {
	if n == 1 {
		return "1 attempt"
	}
	return ui.Count(n) + " attempts"
}

func limit(n int) string {
	if n == 0 {
		return "no limit"
	}
	return fmt.Sprintf("at most %d a second", n)
}

func schemeWord(s webhooks.Scheme) string {
	if s == webhooks.Ed25519 {
		return "Ed25519: the receiver holds a public key"
	}
	return "HMAC-SHA256: the receiver holds the same secret"
}

func latencyChart(h webhooks.Health, zone *time.Location) ui.Chart {
	c := ui.Chart{Title: "Latency in milliseconds, by the hour", Lines: []ui.Line{{Label: "p50", Colour: "emerald"}, {Label: "p95", Colour: "sky"}}}
	for _, hour := range h.Hours {
		c.Labels = append(c.Labels, hour.At.In(zone).Format("15:04"))
		p50, p95 := hour.P50MS, hour.P95MS
		if hour.Attempts == 0 {
			p50, p95 = ui.Gap(), ui.Gap() // an hour in which nothing was sent was not a fast one
		}
		c.Lines[0].Values = append(c.Lines[0].Values, p50)
		c.Lines[1].Values = append(c.Lines[1].Values, p95)
	}
	return c
}

func attemptsChart(h webhooks.Health, zone *time.Location) ui.Chart {
	c := ui.Chart{Title: "Attempts, by the hour", Lines: []ui.Line{{Label: "attempts", One: "attempt", Colour: "slate"}, {Label: "failed", Colour: "rose"}}}
	for _, hour := range h.Hours {
		c.Labels = append(c.Labels, hour.At.In(zone).Format("15:04"))
		c.Lines[0].Values = append(c.Lines[0].Values, float64(hour.Attempts))
		c.Lines[1].Values = append(c.Lines[1].Values, float64(hour.Failed))
	}
	return c
}
