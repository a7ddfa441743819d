package ui

import "strings"

// Look is how a state appears wherever it is shown: one colour, one icon, one word.
type Look struct {
	Colour string // a class: sky, emerald, amber, slate, rose, violet, indigo, orange
	Icon   string
	Word   string
}

// LookOf returns the look of a state of a job, delivery, event, notice, endpoint, periodic,
// note, request, code, token or import. It is the one map; an unknown state is shown as it
// is written.
func LookOf(state string) Look {
	switch state {
	case "pending", "waiting", "scheduled", "available", "queued":
		return Look{"sky", "clock", words(state)}
	case "running", "processing", "healthy", "enabled", "active", "on_time", "published", "ok":
		return Look{"emerald", runningIcon(state), words(state)}
	case "retryable", "failing", "overdue", "attention", "undecided":
		return Look{"amber", retryIcon(state), words(state)}
	case "completed", "delivered", "sent", "imported", "replied", "approved", "used", "skipped", "private", "dropped", "pruned", "idle", "unknown", "expired":
		return Look{"slate", restIcon(state), words(state)}
	case "discarded", "failed", "poisoned", "disabled", "refused", "declined", "stuck":
		return Look{"rose", failIcon(state), words(state)}
	case "cancelled", "revoked":
		return Look{"violet", "ban", words(state)}
	case "parked", "paused", "held":
		return Look{"indigo", "pause", words(state)}
	case "uncertain":
		return Look{"orange", "circle-question-mark", words(state)}
	default:
		return Look{"slate", "circle-dot", words(state)}
	}
}

func words(state string) string {
	return strings.ReplaceAll(state, "_", " ")
}

func runningIcon(state string) string {
	switch state {
	case "running", "processing":
		return "loader-circle"
	case "published":
		return "globe"
	default:
		return "circle-check"
	}
}

func retryIcon(state string) string {
	if state == "retryable" {
		return "rotate-ccw"
	}
	return "triangle-alert"
}

func restIcon(state string) string {
	switch state {
	case "skipped":
		return "skip-forward"
	case "private":
		return "lock"
	case "dropped", "pruned":
		return "trash-2"
	case "expired":
		return "calendar-x"
	case "idle", "unknown":
		return "circle-dot"
	default:
		return "check"
	}
}

func failIcon(state string) string {
	if state == "poisoned" || state == "stuck" {
		return "octagon-alert"
	}
	return "circle-x"
}
