package webhooks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gatehouse-hq/gatehouse/internal/infra/egress"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// Bounds of what an owner can type.
const (
	MaxDescription  = 500 // characters
	MaxGlobs        = 50
	MaxPerSecond    = 1000
	MaxEndpoints    = 1000
	fieldEventTypes = "event_types"
)

// typed are the fields of an endpoint that its owner edits, checked together so that every mistake is named at once.
type typed struct {
	URL, Description string
	EventTypes       []string
	Headers          []Header
	MaxPerSecond     int
}

// clean trims what people leave around what they type, and checks everything. The errors are joined, one a field.
func (d *Domain) clean(ctx context.Context, in typed) (typed, error) {
	in.URL = strings.TrimSpace(in.URL)
	in.Description = strings.TrimSpace(in.Description)
	for i := range in.Headers {
		in.Headers[i].Name = strings.TrimSpace(in.Headers[i].Name)
		in.Headers[i].Value = strings.Trim(in.Headers[i].Value, " \t")
	}
	globs, globErr := d.cleanGlobs(in.EventTypes)
	in.EventTypes = globs
	return in, errors.Join(d.checkURL(ctx, in.URL), checkDescription(in.Description), globErr, d.checkHeaders(in.Headers), checkRate(in.MaxPerSecond))
}

func (d *Domain) checkURL(ctx context.Context, url string) error {
	if url == "" {
		return op.Invalidf("url", "Write the receiver's address, such as https://example.org/hook.")
	}
	if !utf8.ValidString(url) || strings.ContainsFunc(url, unicode.IsControl) {
		return op.Invalidf("url", "The address holds characters that cannot be sent.")
	}
	err := d.Addresses.Check(ctx, url)
	var refused *egress.RefusedError
	if errors.As(err, &refused) {
		return op.Invalidf("url", "This address is refused: %s.", refused.Reason)
	}
	return err
}

func checkDescription(s string) error {
	if n := utf8.RuneCountInString(s); n > MaxDescription {
		return op.Invalidf("description", "The description has %d characters; %d are the most.", n, MaxDescription)
	}
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return op.Invalidf("description", "The description holds characters that cannot be stored.")
	}
	return nil
}

func checkRate(n int) error {
	if n < 0 || n > MaxPerSecond {
		return op.Invalidf("max_per_second", "Write a whole number from 1 to %d, or 0 for no limit.", MaxPerSecond)
	}
	return nil
}

func (d *Domain) checkHeaders(hs []Header) error {
	i, part, reason := d.Wire.CheckHeaders(hs)
	if i < 0 {
		return nil
	}
	return op.Invalidf(fmt.Sprintf("headers.%d.%s", i, part), "Header %q cannot be sent: %s.", hs[i].Name, reason)
}

// cleanGlobs drops empty lines and repetitions. Each glob has to select something that can be sent.
func (d *Domain) cleanGlobs(in []string) ([]string, error) {
	out := make([]string, 0, len(in))
	for _, g := range in {
		if g = strings.TrimSpace(g); g != "" && !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	switch {
	case len(out) == 0:
		return out, op.Invalidf(fieldEventTypes, "Choose at least one type of event.")
	case len(out) > MaxGlobs:
		return out, op.Invalidf(fieldEventTypes, "%d patterns; %d are the most. Use * and **, as in corpus.**.", len(out), MaxGlobs)
	}
	for _, g := range out {
		glob, err := events.ParseGlob(g)
		if err != nil {
			return out, op.Invalidf(fieldEventTypes, "%s.", err)
		}
		// A test goes to the endpoint it names alone: who selects nothing else would never hear of anything.
		if !slices.ContainsFunc(d.types, func(t events.Type) bool { return t.Name != TestType && glob.Match(t.Name) }) {
			return out, op.Invalidf(fieldEventTypes, "%q selects none of the event types that can be sent.", g)
		}
	}
	return out, nil
}

// MatchTypes are the names of the event types that a list of globs selects; globs that cannot be read select nothing.
func (d *Domain) MatchTypes(globs []string) []string {
	out := []string{}
	for _, t := range d.types {
		if Selects(globs, t.Name) {
			out = append(out, t.Name)
		}
	}
	return out
}

// Selects reports whether one of the globs selects the type.
func Selects(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(text string) bool {
		g, err := events.ParseGlob(text)
		return err == nil && g.Match(name)
	})
}

func checkScheme(s Scheme) (Scheme, error) {
	switch s {
	case "":
		return HMAC, nil
	case HMAC, Ed25519:
		return s, nil
	}
	return s, op.Invalidf("scheme", "Choose hmac or ed25519.")
}
