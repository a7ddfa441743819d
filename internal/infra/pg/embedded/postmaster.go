package embedded

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// postmaster is what PostgreSQL writes about itself into postmaster.pid.
type postmaster struct {
	pid       int
	port      string
	socketDir string // "" when it listens on loopback only
	ready     bool
}

// readPostmaster reads postmaster.pid; ok is false when there is none, or none a PostgreSQL has finished writing.
func (l layout) readPostmaster() (pm postmaster, ok bool) {
	text, err := os.ReadFile(l.pidFile())
	if err != nil {
		return postmaster{}, false
	}
	return parsePostmaster(string(text))
}

// parsePostmaster knows the lines of the file (PostgreSQL's pidfile.h): 1 process, 2 data directory, 3 start time,
// 4 port, 5 socket directory, 6 listen address, 7 shared memory, 8 state. A starting PostgreSQL adds them one by one.
func parsePostmaster(text string) (pm postmaster, ok bool) {
	line := strings.Split(text, "\n")
	for i := range line {
		line[i] = strings.TrimSpace(line[i])
	}
	pid, err := strconv.Atoi(line[0])
	if err != nil || pid <= 1 {
		return postmaster{}, false
	}
	pm.pid = pid
	if len(line) >= 8 {
		pm.port, pm.socketDir, pm.ready = line[3], line[4], line[7] == "ready"
	}
	return pm, true
}

// url is the address of a database for a role.
func (pm postmaster) url(role, password, database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(role, password), Path: "/" + database}
	q := url.Values{}
	if pm.socketDir != "" {
		q.Set("host", pm.socketDir)
		q.Set("port", pm.port)
	} else {
		u.Host = net.JoinHostPort("127.0.0.1", pm.port)
		q.Set("sslmode", "disable")
	}
	// libpq and pgx take a plus in an address for a plus.
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
	return u.String()
}

// runsPostgres reports whether pid is a living PostgreSQL process of the account. A number in a file is no proof: after
// a crash or in a new container it may belong to anything, and a process nobody has collected is dead.
func (a account) runsPostgres(pid int) bool {
	if syscall.Kill(pid, 0) == syscall.ESRCH {
		return false
	}
	out, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err == nil {
		info, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
		if err != nil {
			return false
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		// "4711 (postgres) S 1 …", proc(5)
		name, rest, _ := strings.Cut(string(out), ") ")
		return ok && st.Uid == a.uid && strings.HasSuffix(name, "(postgres") && !strings.HasPrefix(rest, "Z")
	}
	// No /proc: macOS and the BSDs.
	out, err = exec.Command("ps", "-o", "uid=,state=,comm=", "-p", strconv.Itoa(pid)).Output()
	field := strings.Fields(string(out))
	return err == nil && len(field) >= 3 && field[0] == strconv.FormatUint(uint64(a.uid), 10) &&
		!strings.HasPrefix(field[1], "Z") && strings.HasPrefix(filepath.Base(field[2]), "postgres")
}

// running waits for the PostgreSQL that already serves the cluster, if there is one, to be ready. ok is false when none
// runs, or the one that did has ended meanwhile.
func (l layout) running(ctx context.Context, acct account) (pm postmaster, ok bool, err error) {
	for {
		pm, ok := l.readPostmaster()
		if !ok || !acct.runsPostgres(pm.pid) {
			return postmaster{}, false, nil
		}
		if pm.ready {
			return pm, true, nil
		}
		if err := pause(ctx); err != nil {
			return postmaster{}, false, fmt.Errorf("wait for the running PostgreSQL (process %d) to be ready: %w", pm.pid, err)
		}
	}
}

// disownStalePid makes a leftover postmaster.pid harmless whose number now belongs to another kind of process, which
// PostgreSQL would take for itself and refuse to start. Our own number in its place tells it that the file is stale (it
// skips its parent's), while it still checks the shared memory the file names for survivors of the old server.
func (l layout) disownStalePid(acct account) error {
	pm, ok := l.readPostmaster()
	if !ok || syscall.Kill(pm.pid, 0) == syscall.ESRCH || acct.runsPostgres(pm.pid) {
		return nil
	}
	text, err := os.ReadFile(l.pidFile())
	if err != nil {
		return fmt.Errorf("read the left-over %s: %w", l.pidFile(), err)
	}
	_, rest, _ := strings.Cut(string(text), "\n")
	f, err := os.OpenFile(l.pidFile(), os.O_WRONLY|os.O_TRUNC|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return unwritable(l.dataDir, err)
	}
	defer f.Close()
	if _, err := fmt.Fprintf(f, "%d\n%s", os.Getpid(), rest); err != nil {
		return unwritable(l.dataDir, err)
	}
	return nil
}

// child is a PostgreSQL this process has started.
type child struct {
	done chan struct{}
	how  error // how it ended; read it after done
}

func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// launch starts PostgreSQL on an existing cluster and waits until it is ready.
func (l layout) launch(ctx context.Context, acct account, progs programs, cfg Config) (postmaster, *child, error) {
	conf, err := l.writeSettings(cfg.Settings)
	if err != nil {
		return postmaster{}, nil, err
	}
	if err := l.disownStalePid(acct); err != nil {
		return postmaster{}, nil, err
	}
	address, err := l.address()
	if err != nil {
		return postmaster{}, nil, err
	}
	log, before, err := l.openLog()
	if err != nil {
		return postmaster{}, nil, err
	}
	defer log.Close()
	// Not CommandContext: PostgreSQL outlives the context of its start.
	cmd := exec.Command(progs.postgres(), append([]string{"-D", l.data(), "-c", "config_file=" + conf}, address...)...)
	acct.run(cmd, l.data())
	cmd.Env = append(cmd.Env, cfg.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return postmaster{}, nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	started := &child{done: make(chan struct{})}
	go func() {
		defer close(started.done)
		started.how = cmd.Wait()
	}()
	pm, err := l.awaitReady(ctx, cmd.Process.Pid, started, before)
	if err != nil {
		_ = syscall.Kill(cmd.Process.Pid, syscall.SIGQUIT)
		<-started.done
		return postmaster{}, nil, err
	}
	return pm, started, nil
}

// awaitReady waits for the PostgreSQL just started. After a crash it replays its log first, which may take a while.
func (l layout) awaitReady(ctx context.Context, pid int, started *child, logBefore int64) (postmaster, error) {
	for {
		// The pid tells our PostgreSQL's file from one a crash left.
		if pm, ok := l.readPostmaster(); ok && pm.ready && pm.pid == pid {
			return pm, nil
		}
		if started.ended() {
			return postmaster{}, programFailed("PostgreSQL did not start", l.dataDir, readFrom(l.log(), logBefore))
		}
		if err := pause(ctx); err != nil {
			return postmaster{}, fmt.Errorf("wait for PostgreSQL to be ready: %w", err)
		}
	}
}

// freePort asks the kernel for a loopback port nobody uses.
func freePort() (int, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port, nil
}

// free reports whether nobody listens on a loopback port.
func free(port int) bool {
	ln, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return ln.Close() == nil
}
