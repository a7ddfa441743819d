package pg

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrUnsure is in the error of a transaction whose commit was sent and never
// answered: what it wrote may be stored or not. Nobody may be told that nothing
// was changed.
var ErrUnsure = errors.New("whether it was stored is not known")

// NoRows reports whether err says that the row asked for does not exist.
func NoRows(err error) bool { return errors.Is(err, pgx.ErrNoRows) }

// State is the SQLSTATE of err, or "".
func State(err error) string {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return pe.Code
	}
	return ""
}

// UniqueViolation reports whether err is a duplicate key of the named
// constraint or index; an empty name matches any.
func UniqueViolation(err error, constraint string) bool {
	var pe *pgconn.PgError
	return errors.As(err, &pe) && pe.Code == "23505" && (constraint == "" || pe.ConstraintName == constraint)
}

// RowFault reports whether err is a fault of the row itself (data exception or
// integrity violation, SQLSTATE class 22 or 23) and not of the surroundings.
func RowFault(err error) bool {
	s := State(err)
	return strings.HasPrefix(s, "22") || strings.HasPrefix(s, "23")
}

// DiskFull reports whether the database could not write for want of space.
func DiskFull(err error) bool {
	s := State(err)
	return s == "53100" || (strings.HasPrefix(s, "58") && strings.Contains(err.Error(), "No space left"))
}

// Unavailable reports whether the database could not be reached or could not
// take the work at this moment: another try later may succeed.
func Unavailable(err error) bool {
	if err == nil {
		return false
	}
	var ce *pgconn.ConnectError
	var ne net.Error
	if errors.As(err, &ce) || errors.As(err, &ne) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.ErrUnexpectedEOF) {
		return true
	}
	s := State(err)
	const lockNotAvailable = "55P03" // within the pool's lock_timeout
	return s == lockNotAvailable || strings.HasPrefix(s, "08") || strings.HasPrefix(s, "53") || strings.HasPrefix(s, "57P") || pgconn.SafeToRetry(err)
}

func isStalePlan(err error) bool {
	return State(err) == "0A000" && strings.Contains(err.Error(), "cached plan")
}

// scrub removes a password from an error that quotes the database address.
func scrub(err error) error {
	var pe *pgconn.ParseConfigError
	if errors.As(err, &pe) {
		return errors.New("the address is not a PostgreSQL connection string such as postgres://user:password@host:5432/name")
	}
	var ue *url.Error
	if errors.As(err, &ue) {
		return ue.Err
	}
	return err
}
