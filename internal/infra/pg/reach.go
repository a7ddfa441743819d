package pg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// oldestServer is the oldest major version of PostgreSQL this program works with.
const oldestServer = 14

// ErrOldServer: the server is older than what the schema is written for. Asked before anything is written.
var ErrOldServer = errors.New("PostgreSQL is too old")

// recentEnough reads what the server said of itself when the connection was made.
func recentEnough(conn *pgconn.PgConn) error {
	said := conn.ParameterStatus("server_version")
	end := strings.IndexFunc(said, func(r rune) bool { return r < '0' || r > '9' }) // 13.4, 18beta1
	if end < 0 {
		end = len(said)
	}
	major, err := strconv.Atoi(said[:end])
	if err != nil || major >= oldestServer {
		return nil // a server of another make may call itself what it likes
	}
	return fmt.Errorf("%w: the server reports version %s and Gatehouse needs %d or newer; nothing was changed: "+
		"upgrade it (pg_upgrade or a dump), or set DATABASE_URL to a newer one", ErrOldServer, said, oldestServer)
}

// unreached turns the failure to connect into one sentence that says where, why and what to do, and keeps the cause for
// whoever asks with errors.Is. The driver's own words repeat each attempt on a line of its own.
func unreached(err error) error {
	if err == nil || errors.Is(err, ErrOldServer) {
		return err
	}
	var unread *pgconn.ParseConfigError
	if errors.As(err, &unread) {
		return errors.New("DATABASE_URL is not a PostgreSQL address: write it like postgres://user:password@host:5432/name, " +
			"with the signs of a password that mean something in an address percent-encoded (@ as %40, / as %2F)")
	}
	err = scrub(err)
	where, user, name := "the server of DATABASE_URL", "", ""
	var failed *pgconn.ConnectError
	if errors.As(err, &failed) {
		where = net.JoinHostPort(failed.Config.Host, strconv.Itoa(int(failed.Config.Port)))
		if strings.HasPrefix(failed.Config.Host, "/") {
			where = failed.Config.Host
		}
		user, name = failed.Config.User, failed.Config.Database
	}
	if why := reason(err, where, user, name); why != "" {
		return &reachError{why, err}
	}
	return fmt.Errorf("reach database: %w", err)
}

func reason(err error, where, user, name string) string {
	var lookup *net.DNSError
	switch state := State(err); {
	case state == "28P01":
		return fmt.Sprintf("PostgreSQL at %s refuses the password of user %q: correct DATABASE_URL", where, user)
	case strings.HasPrefix(state, "28"):
		return fmt.Sprintf("PostgreSQL at %s does not let user %q in: correct the user in DATABASE_URL, or allow it in pg_hba.conf", where, user)
	case state == "3D000":
		return fmt.Sprintf("PostgreSQL at %s has no database %q: create it (createdb %s), or correct DATABASE_URL", where, name, name)
	case state == "53300":
		return fmt.Sprintf("PostgreSQL at %s has no connection left: raise max_connections there, or lower GATEHOUSE_POOL_SIZE", where)
	case state == "57P03":
		return fmt.Sprintf("PostgreSQL at %s is starting or stopping: try again in a moment", where)
	case state != "":
		return ""
	case errors.As(err, &lookup):
		return fmt.Sprintf("the host %q of DATABASE_URL is not known to the name service: correct it, or give an address", lookup.Name)
	case errors.Is(err, context.Canceled):
		return ""
	case nobodyThere(err):
		return fmt.Sprintf("no PostgreSQL answers at %s: start it, or correct DATABASE_URL", where)
	case noWayThere(err):
		return fmt.Sprintf("PostgreSQL at %s cannot be reached: check the address in DATABASE_URL and the network between", where)
	case strings.Contains(err.Error(), "refused TLS"):
		return fmt.Sprintf("PostgreSQL at %s offers no TLS, which DATABASE_URL asks for: turn it on there, or say sslmode=disable if the line is private", where)
	}
	return ""
}

// nobodyThere: the machine was reached, and no server of databases on it, or one that hung up without a word, as a forwarder
// does whose server is not up.
func nobodyThere(err error) bool {
	for _, sign := range []error{syscall.ECONNREFUSED, syscall.ENOENT, syscall.ECONNRESET, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, sign) {
			return true
		}
	}
	return false
}

// noWayThere: nothing comes back from the machine.
func noWayThere(err error) bool {
	for _, sign := range []error{context.DeadlineExceeded, os.ErrDeadlineExceeded, syscall.EHOSTUNREACH, syscall.ENETUNREACH} {
		if errors.Is(err, sign) {
			return true
		}
	}
	return pgconn.Timeout(err)
}

// Away reports whether err says that the database cannot be reached now and may be in a moment, by itself: it is not started
// yet, starting or stopping, has no connection left, or its name is not known yet. What only a person can mend, such as a
// wrong password, a database that does not exist or a full disk, is not of this kind.
func Away(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	if state := State(err); state != "" {
		return strings.HasPrefix(state, "57P0") && state != "57P04" || strings.HasPrefix(state, "08") || state == "53300"
	}
	var lookup *net.DNSError
	return errors.As(err, &lookup) || nobodyThere(err) || noWayThere(err) || pgconn.SafeToRetry(err)
}

// notAllowed says what to grant when a migration may not create what it wants. From PostgreSQL 15 on only the owner of a
// database may create in its schema public, so this is what meets whoever made the database as another user.
func notAllowed(err error, c *pgx.ConnConfig) error {
	if State(err) != "42501" {
		return err
	}
	return &reachError{fmt.Sprintf("the user %q may not create tables and schemas in the database %q; nothing was changed: "+
		"give it the database (as a superuser: ALTER DATABASE %s OWNER TO %s)", c.User, c.Database,
		pgx.Identifier{c.Database}.Sanitize(), pgx.Identifier{c.User}.Sanitize()), err}
}

// reachError says one thing and still is what caused it.
type reachError struct {
	says  string
	cause error
}

func (e *reachError) Error() string { return e.says }
func (e *reachError) Unwrap() error { return e.cause }
