package owner

import (
	"net/mail"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// Owner is the one person, and what visitors see of the site's name.
type Owner struct {
	ID         string
	Email      string
	Name       string
	Zone       string // IANA name; times in the panel are shown in it
	Title      string // of the site
	Tagline    string
	SingleKeys bool // single-key shortcuts of the panel
	SetUp      bool
}

// Location is the owner's zone, UTC when it cannot be loaded.
func (o Owner) Location() *time.Location {
	loc, err := time.LoadLocation(o.Zone)
	if err != nil {
		return time.UTC
	}
	return loc
}

// Bounds of what is typed. The password's upper bound keeps argon2id from
// being fed megabytes.
const (
	MinPassword = 10
	MaxPassword = 200
	MaxEmail    = 254
	maxName     = 100
	maxTagline  = 300
)

func checkEmail(s string) (string, error) {
	s = strings.TrimSpace(s)
	a, err := mail.ParseAddress(s)
	if err != nil || a.Address != s || len(s) > MaxEmail {
		return "", op.Invalidf("email", "Write one e-mail address, such as ada@example.com.")
	}
	return s, nil
}

func checkPassword(s string) error {
	switch n := utf8.RuneCountInString(s); {
	case n < MinPassword:
		return op.Invalidf("password", "Use at least %d characters; this has %d.", MinPassword, n)
	case n > MaxPassword:
		return op.Invalidf("password", "Use at most %d characters; this has %d.", MaxPassword, n)
	}
	return nil
}

func checkLine(field, s string, most int) (string, error) {
	s = strings.TrimSpace(s)
	if utf8.RuneCountInString(s) > most {
		return "", op.Invalidf(field, "Use at most %d characters.", most)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == utf8.RuneError }) {
		return "", op.Invalidf(field, "Control characters and broken text are not allowed here.")
	}
	return s, nil
}
