package edge

import (
	"net/http"
	"strings"
)

// BearerToken returns the token of the Authorization header. carried says that
// there was such a header at all; an empty token with it is one to refuse.
func BearerToken(r *http.Request) (token string, carried bool) {
	header := r.Header.Get("Authorization")
	scheme, rest, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", header != ""
	}
	return strings.TrimSpace(rest), true
}
