package pg_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

func discard() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func TestValidUUID(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"0197d0f0-5f2c-7c3e-9d50-1c9a7f0a4b11": true, "0197D0F0-5F2C-7C3E-9D50-1C9A7F0A4B11": true,
		"": false, "0197d0f05f2c7c3e9d501c9a7f0a4b11": false, "0197d0f0-5f2c-7c3e-9d50-1c9a7f0a4b1g": false,
		"{0197d0f0-5f2c-7c3e-9d50-1c9a7f0a4b1}": false, "0197d0f0-5f2c-7c3e-9d50-1c9a7f0a4b11\x00": false,
	} {
		if got := pg.ValidUUID(s); got != want {
			t.Errorf("%q: %t", s, got)
		}
	}
}

func TestErrorsAreTold(t *testing.T) {
	t.Parallel()
	state := func(code string) error { return fmt.Errorf("doing: %w", &pgconn.PgError{Code: code}) }
	if !pg.RowFault(state("22021")) || !pg.RowFault(state("23505")) || pg.RowFault(state("53100")) || pg.RowFault(errors.New("x")) {
		t.Error("faults of a row")
	}
	if !pg.DiskFull(state("53100")) || pg.DiskFull(state("53300")) {
		t.Error("a full disk")
	}
	for name, err := range map[string]error{"too many connections": state("53300"), "shutting down": state("57P01"),
		"network": &net.OpError{Op: "dial", Err: errors.New("refused")}, "deadline": context.DeadlineExceeded} {
		if !pg.Unavailable(err) {
			t.Errorf("%s is not unavailable", name)
		}
	}
	for name, err := range map[string]error{"refused": &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
		"no socket": fmt.Errorf("dial: %w", syscall.ENOENT), "a forwarder hangs up": fmt.Errorf("receive: %w", io.ErrUnexpectedEOF), "no name yet": &net.DNSError{Name: "db"},
		"swallowed": context.DeadlineExceeded, "starting": state("57P03"), "stopped meanwhile": state("57P01"), "full": state("53300")} {
		if !pg.Away(err) {
			t.Errorf("%s: it is not waited for", name)
		}
	}
	for name, err := range map[string]error{"nothing": nil, "password": state("28P01"), "name": state("3D000"), "rights": state("42501"), "disk": state("53100"),
		"dropped": state("57P04"), "stopped by us": fmt.Errorf("connect: %w", context.Canceled), "TLS": errors.New("server refused TLS connection"), "old": pg.ErrOldServer} {
		if pg.Away(err) {
			t.Errorf("%s: it is waited for in vain", name)
		}
	}
	if pg.Unavailable(nil) || pg.Unavailable(state("42P01")) {
		t.Error("a missing table is no outage")
	}
}

// The password of a database address must not come back in an error.
func TestOpenKeepsThePassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://me:plumsecret@127.0.0.1:notaport/db", "postgres://me:plumsecret@127.0.0.1:1/db?sslmode=disable&connect_timeout=1"} {
		_, err := pg.Open(t.Context(), url, pg.Options{})
		if err == nil || strings.Contains(err.Error(), "plumsecret") {
			t.Errorf("%v", err)
		}
	}
}
