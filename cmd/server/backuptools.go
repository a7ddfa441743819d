package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// client prepares a program of PostgreSQL to work on the database at address. The password goes by the environment: a
// command line can be read by every user of the machine.
func client(ctx context.Context, path, address string, args ...string) (*exec.Cmd, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("DATABASE_URL is not a PostgreSQL address; allowed is postgres://user:password@host:5432/name")
	}
	env := append(os.Environ(), "LC_ALL=C")
	if u.User != nil {
		if password, set := u.User.Password(); set {
			env = append(env, "PGPASSWORD="+password)
		}
		u.User = url.User(u.User.Username())
	}
	query := u.Query()
	if password := query.Get("password"); password != "" {
		env = append(env, "PGPASSWORD="+password)
	}
	for name := range query {
		if !slices.Contains(understood(), name) {
			query.Del(name)
		}
	}
	u.RawQuery = query.Encode()
	// libpq does not take a plus sign for a blank, as forms do.
	u.RawQuery = strings.ReplaceAll(u.RawQuery, "+", "%20")
	cmd := exec.CommandContext(ctx, path, append(args, "--dbname="+u.String())...)
	cmd.Env = env
	return cmd, nil
}

// understood are the parameters of an address that PostgreSQL's own programs know. Others are our driver's, such as the
// pool's size, and would be refused.
func understood() []string {
	return []string{"host", "port", "user", "dbname", "passfile", "connect_timeout", "sslmode", "sslcert", "sslkey", "sslrootcert", "sslcrl", "sslsni",
		"options", "target_session_attrs", "gssencmode", "krbsrvname", "channel_binding"}
}

// failed puts what a program said before it gave up into one sentence.
func failed(name string, err error, said *bytes.Buffer) error {
	line := ""
	for text := range strings.Lines(said.String()) {
		if text = strings.TrimSpace(text); text != "" && (line == "" || strings.Contains(text, "rror:")) {
			line = text
		}
	}
	if line == "" {
		return fmt.Errorf("%s: %w", name, err)
	}
	return errors.New(line)
}

// serverMajor is the major version of the server behind q.
func serverMajor(ctx context.Context, q pg.Querier) (int, error) {
	var n int
	err := q.QueryRow(ctx, `select current_setting('server_version_num')::int / 10000`).Scan(&n)
	return n, err
}
