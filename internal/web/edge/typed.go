package edge

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// typedLimit bounds what is read back, in bytes. What refuses a request before its handler, such as the sign-in gate, has
// put no limit on its body, and strangers send it; the longest form that is typed, a note's, has 7 MiB.
const typedLimit = 8 << 20

// typed returns what a person sent with a form that could not be stored, so that the error
// page can give it back. Secrets stay out: a password is typed again.
func typed(r *http.Request) []ui.Typed {
	if r.PostForm == nil {
		// The handler may have failed before it read the body. One that is too large or
		// broken gives back nothing.
		r.Body = http.MaxBytesReader(nil, r.Body, typedLimit)
		if err := readForm(r, typedLimit); err != nil {
			return nil
		}
	}
	var fields []ui.Typed
	for name, values := range r.PostForm {
		if secret(name) {
			continue
		}
		for _, value := range values {
			fields = append(fields, ui.Typed{Name: name, Value: value})
		}
	}
	slices.SortStableFunc(fields, func(a, b ui.Typed) int { return strings.Compare(a.Name, b.Name) })
	return fields
}

func secret(name string) bool {
	lower := strings.ToLower(name)
	return slices.ContainsFunc([]string{"password", "secret", "token", "code", "credential", "key"}, func(word string) bool {
		return strings.Contains(lower, word)
	})
}
