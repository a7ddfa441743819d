package embedded

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
)

// The two roles of a private cluster. The application's role owns its database and nothing else.
const (
	adminRole = "postgres"
	appRole   = "gatehouse"
	appDB     = "gatehouse"
)

// passwords are those of the two roles. They are kept in PostgreSQL's own password file format, so that a person can
// open the database with `PGPASSFILE=…/pgpass psql`. They are hexadecimal: safe in SQL, in URLs and in that file.
type passwords struct{ admin, app string }

func newPasswords() passwords {
	return passwords{admin: randomHex(), app: randomHex()}
}

func randomHex() string {
	var b [24]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return hex.EncodeToString(b[:])
}

func (p passwords) write(path string) error {
	text := fmt.Sprintf("*:*:*:%s:%s\n*:*:*:%s:%s\n", adminRole, p.admin, appRole, p.app)
	return os.WriteFile(path, []byte(text), 0o600)
}

func readPasswords(path string) (passwords, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return passwords{}, fmt.Errorf("the passwords of the database could not be read: %w; "+
			"nothing was changed: put the file back from a backup", err)
	}
	return parsePasswords(string(text), path)
}

func parsePasswords(text, path string) (passwords, error) {
	var p passwords
	for line := range strings.Lines(text) {
		field := strings.Split(strings.TrimSpace(line), ":")
		if len(field) != 5 {
			continue
		}
		switch field[3] {
		case adminRole:
			p.admin = field[4]
		case appRole:
			p.app = field[4]
		}
	}
	if p.admin == "" || p.app == "" {
		return passwords{}, fmt.Errorf("the file %s does not hold the passwords of the database; "+
			"nothing was changed: put it back from a backup", path)
	}
	return p, nil
}
