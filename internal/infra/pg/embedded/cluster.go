package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Config says where the cluster lives and who is told about it.
type Config struct {
	// DataDir is Gatehouse's data directory; the cluster is in its subdirectory postgres. Empty: DefaultDataDir().
	DataDir string
	// Settings are PostgreSQL settings over the standard ones. They apply when this process starts PostgreSQL, not
	// when it adopts a running one. With fsync "off" a new cluster is not forced to the disk either.
	Settings map[string]string
	// Env is added to PostgreSQL's own small environment, for a test that gives it another clock.
	Env []string
	// Log receives a line before something that takes a person's time (creating the cluster). Nil: silence.
	Log io.Writer
}

// Cluster is a private PostgreSQL this process uses.
type Cluster struct {
	cfg     Config
	places  []string
	lay     layout
	acct    account
	users   fileLock
	adopted bool // what Start met; Keep may start PostgreSQL later
	stop    sync.Once
	stopErr error

	mu      sync.Mutex
	pm      postmaster
	pw      passwords
	child   *child // nil when another process started it
	history History
}

// Start makes the cluster run and returns when the application's database accepts connections: it creates the cluster
// if there is none, adopts the PostgreSQL that already serves it, or starts one. It waits as long as ctx allows;
// PostgreSQL outlives ctx, until Stop. Errors are sentences for the person at the terminal.
func Start(ctx context.Context, cfg Config) (*Cluster, error) {
	return start(ctx, cfg, usualPlaces())
}

// start takes the places to look for PostgreSQL in as a parameter, so that a test can have none.
func start(ctx context.Context, cfg Config, places []string) (_ *Cluster, err error) {
	if cfg.DataDir == "" {
		if cfg.DataDir, err = DefaultDataDir(); err != nil {
			return nil, err
		}
	}
	if cfg.DataDir, err = filepath.Abs(cfg.DataDir); err != nil {
		return nil, fmt.Errorf("find the data directory: %w", err)
	}
	if cfg.Log == nil {
		cfg.Log = io.Discard
	}
	c := &Cluster{cfg: cfg, places: places, lay: newLayout(cfg.DataDir)}
	if c.acct, err = databaseAccount(); err != nil {
		return nil, err
	}
	if err := c.lay.create(c.acct); err != nil {
		return nil, err
	}
	starting, err := openLock(c.lay.startLock())
	if err != nil {
		return nil, unwritable(cfg.DataDir, err)
	}
	defer starting.release()
	if err := starting.take(ctx, true); err != nil {
		return nil, err
	}
	if c.users, err = openLock(c.lay.usersLock()); err != nil {
		return nil, unwritable(cfg.DataDir, err)
	}
	if err := errors.Join(c.users.take(ctx, false), c.open(ctx)); err != nil {
		c.users.release()
		return nil, err
	}
	return c, nil
}

// open makes the cluster run, if need be from nothing. The caller holds start.lock.
func (c *Cluster) open(ctx context.Context) error {
	major, err := c.lay.existing()
	if err == nil {
		c.adopted, err = c.bringUp(ctx, major)
	}
	return err
}

// bringUp adopts or starts PostgreSQL on a cluster of that major version, "" when there is none yet. The caller holds
// start.lock.
func (c *Cluster) bringUp(ctx context.Context, major string) (adopted bool, err error) {
	pm, adopted, err := c.lay.running(ctx, c.acct)
	if err != nil {
		return false, err
	}
	var started *child
	if !adopted {
		if pm, started, err = c.startAfresh(ctx, major); err != nil {
			return false, err
		}
	}
	c.mu.Lock()
	c.pm, c.child = pm, started
	c.mu.Unlock()
	pw, err := readPasswords(c.lay.passwords())
	if err == nil {
		c.mu.Lock()
		c.pw = pw
		c.mu.Unlock()
		err = c.ensureDatabase(ctx)
	}
	if err != nil && !adopted {
		// What this call started it also ends; the reason of its failure is the error to tell.
		_ = c.shutDown(context.WithoutCancel(ctx))
	}
	return adopted, err
}

func (c *Cluster) startAfresh(ctx context.Context, major string) (pm postmaster, started *child, err error) {
	all := findPrograms(ctx, c.places)
	var progs programs
	if major != "" {
		progs, err = matching(all, major, c.lay.data())
	} else {
		progs, err = newest(all)
	}
	if err != nil {
		return pm, nil, err
	}
	if major == "" {
		fmt.Fprintf(c.cfg.Log, "Creating a private PostgreSQL %d database in %s\n", progs.major, c.lay.home)
		if err := c.lay.initialise(ctx, c.acct, progs, c.cfg.Settings["fsync"] != "off"); err != nil {
			return pm, nil, err
		}
	}
	// After a kill the old backends end within a moment, under load a long one; whoever starts just then waits for them.
	for end := time.Now().Add(survivorsTime); ; {
		pm, started, err = c.lay.launch(ctx, c.acct, progs, c.cfg)
		if !errors.Is(err, errSurvivors) || time.Now().After(end) || wait(ctx, 200*time.Millisecond) != nil {
			return pm, started, err
		}
	}
}

// survivorsTime is how long a start waits for backends that a killed PostgreSQL has left.
const survivorsTime = 20 * time.Second

// ensureDatabase makes the application's role and database where they are missing: after initdb, and after a start that
// was killed between the two.
func (c *Cluster) ensureDatabase(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second) // a frozen PostgreSQL never answers
	defer cancel()
	conn, err := pgx.Connect(ctx, c.AdminURL())
	if err != nil {
		return fmt.Errorf("sign in to the private PostgreSQL in %s: %w", c.lay.home, err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var role, db bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1),
		EXISTS (SELECT FROM pg_database WHERE datname = $2)`, appRole, appDB).Scan(&role, &db); err != nil {
		return fmt.Errorf("look for the application's database: %w", err)
	}
	if !role {
		// The password is ours and hexadecimal; CREATE ROLE takes no parameters.
		if _, err := conn.Exec(ctx, "CREATE ROLE "+appRole+" LOGIN PASSWORD '"+c.pw.app+"'"); err != nil {
			return fmt.Errorf("create the application's role: %w", err)
		}
	}
	if !db {
		if _, err := conn.Exec(ctx, "CREATE DATABASE "+appDB+" OWNER "+appRole); err != nil {
			return fmt.Errorf("create the application's database: %w", err)
		}
	}
	return nil
}

// URL is the address of the application's database, for the role that owns it. It holds a password: do not log it.
func (c *Cluster) URL() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pm.url(appRole, c.pw.app, appDB)
}

// AdminURL is the address of PostgreSQL's maintenance database for its superuser. It holds a password: do not log it.
func (c *Cluster) AdminURL() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pm.url(adminRole, c.pw.admin, "postgres")
}

// Process is the process id of PostgreSQL.
func (c *Cluster) Process() int { return c.server().pid }

func (c *Cluster) server() postmaster {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pm
}

// Adopted reports whether PostgreSQL was already running when Start came: started by another process that uses it
// still, or left by one that was killed.
func (c *Cluster) Adopted() bool { return c.adopted }

// Stop ends this process's use of the cluster. If no other process uses it, PostgreSQL is shut down: connections are
// cut, what was committed is on disk, the next start needs no recovery. Stop takes at most 30 s, less if ctx ends; when
// PostgreSQL has not stopped by then it is stopped hard (it recovers at its next start), and that is the error. Stop
// may be called again and returns the same.
func (c *Cluster) Stop(ctx context.Context) error {
	c.stop.Do(func() {
		defer c.users.release()
		c.stopErr = c.stopIfLast(ctx)
	})
	return c.stopErr
}

func (c *Cluster) stopIfLast(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 25*time.Second)
	defer cancel()
	starting, err := openLock(c.lay.startLock())
	if err != nil {
		return fmt.Errorf("stop the private PostgreSQL: %w", err)
	}
	defer starting.release()
	// With start.lock held nobody joins between the question and the answer.
	if err := starting.take(ctx, true); err != nil {
		return fmt.Errorf("stop the private PostgreSQL: %w", err)
	}
	if last, err := c.users.try(true); err != nil || !last {
		return err
	}
	return c.shutDown(ctx)
}

// shutDown stops PostgreSQL: fast until ctx ends, then hard. The caller holds start.lock.
func (c *Cluster) shutDown(ctx context.Context) error {
	c.meet()
	if !c.alive() {
		return nil
	}
	pid := c.server().pid
	_ = syscall.Kill(pid, syscall.SIGINT) // fast shutdown
	if c.awaitEnd(ctx) == nil {
		return nil
	}
	hard, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = syscall.Kill(pid, syscall.SIGQUIT) // immediate shutdown
	if err := c.awaitEnd(hard); err != nil {
		return fmt.Errorf("the private PostgreSQL (process %d) does not stop: %w", pid, err)
	}
	return errors.New("the private PostgreSQL did not stop in time and was stopped hard; it recovers at its next start")
}

// meet looks whether another process has started PostgreSQL anew since the one we know ended.
func (c *Cluster) meet() {
	pm, ok := c.lay.readPostmaster()
	c.mu.Lock()
	defer c.mu.Unlock()
	if ok && pm.pid != c.pm.pid && c.acct.runsPostgres(pm.pid) {
		c.pm, c.child = pm, nil
	}
}

// alive reports whether the PostgreSQL we use still runs. As its parent we know from the kernel.
func (c *Cluster) alive() bool {
	c.mu.Lock()
	pid, started := c.pm.pid, c.child
	c.mu.Unlock()
	if started != nil {
		return !started.ended()
	}
	return c.acct.runsPostgres(pid)
}

func (c *Cluster) awaitEnd(ctx context.Context) error {
	for c.alive() {
		if err := pause(ctx); err != nil {
			return err
		}
	}
	return nil
}
