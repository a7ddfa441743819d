package ui

import (
	"strconv"
	"time"
)

// Relative says how far t is from now in the largest unit that fits: "just now", "4 min ago",
// "in 2 h", "3 days ago"; beyond 30 days it names the date in t's zone.
func Relative(t, now time.Time) string {
	away := t.Sub(now)
	ahead := away > 0
	if !ahead {
		away = -away
	}
	if away < 5*time.Second {
		return "just now"
	}
	if away > 30*24*time.Hour {
		if t.Year() == now.In(t.Location()).Year() {
			return t.Format("2 Jan")
		}
		return t.Format("2 Jan 2006")
	}
	text := coarse(away)
	if ahead {
		return "in " + text
	}
	return text + " ago"
}

func coarse(d time.Duration) string {
	switch {
	case d < time.Minute:
		return strconv.Itoa(int(d/time.Second)) + " s"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + " min"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + " h"
	default:
		return strconv.Itoa(int(d/(24*time.Hour))) + " days"
	}
}

// Span says how long something took, in three figures at most: "4 ms", "1.25 s", "3 min 20 s",
// "2 h 5 min", "4 days 3 h".
func Span(d time.Duration) string {
	switch {
	case d <= 0:
		return "0 ms"
	case d < time.Millisecond:
		return strconv.Itoa(int(d/time.Microsecond)) + " µs"
	case d < time.Second:
		return strconv.Itoa(int(d/time.Millisecond)) + " ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + " s"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < time.Hour:
		return pair(d, time.Minute, " min", time.Second, " s")
	case d < 48*time.Hour:
		return pair(d, time.Hour, " h", time.Minute, " min")
	default:
		return pair(d, 24*time.Hour, " days", time.Hour, " h")
	}
}

func pair(d, big time.Duration, bigName string, small time.Duration, smallName string) string {
	text := strconv.Itoa(int(d/big)) + bigName
	if rest := int(d % big / small); rest > 0 {
		text += " " + strconv.Itoa(rest) + smallName
	}
	return text
}

// Count groups the digits of a number by thin spaces: 1 240 318.
func Count[N ~int | ~int32 | ~int64](n N) string {
	digits := strconv.FormatInt(int64(n), 10)
	head := len(digits) % 3
	if n < 0 {
		head = (len(digits)-1)%3 + 1
	}
	grouped := digits[:head]
	for i := head; i < len(digits); i += 3 {
		if grouped != "" && grouped != "-" {
			grouped += "\u202f"
		}
		grouped += digits[i : i+3]
	}
	return grouped
}

// Bytes says a size in powers of 1000, as disks do: "812 B", "4.2 kB", "1.9 GB".
func Bytes(n int64) string {
	const unit = 1000
	if n < unit {
		return strconv.FormatInt(n, 10) + " B"
	}
	value, names := float64(n)/unit, []string{"kB", "MB", "GB", "TB"}
	i := 0
	for value >= unit && i < len(names)-1 {
		value /= unit
		i++
	}
	digits := 1
	if value >= 100 {
		digits = 0
	}
	return strconv.FormatFloat(value, 'f', digits, 64) + " " + names[i]
}
