package embedded

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// kept starts a cluster and keeps it until the test ends, as serve does.
func kept(t *testing.T, cfg Config) *Cluster {
	t.Helper()
	c := started(t, cfg)
	ctx, end := context.WithCancel(t.Context())
	var keeping sync.WaitGroup
	keeping.Go(func() { c.Keep(ctx, slog.New(slog.NewTextHandler(io.Discard, nil))) })
	t.Cleanup(func() {
		end()
		keeping.Wait()
		stopped(t, c)
	})
	return c
}

func revived(t *testing.T, c *Cluster, after int) {
	t.Helper()
	eventually(t, "PostgreSQL runs again", func() bool {
		h := c.History()
		return h.Ends == after && !h.RunsSince.IsZero()
	})
}

func TestPostgresThatDiesIsStartedAgain(t *testing.T) {
	t.Parallel()
	c := kept(t, Config{DataDir: dataDir(t)})
	keep(t, c.URL(), "committed")
	url := c.URL()
	for i, how := range []syscall.Signal{syscall.SIGKILL, syscall.SIGQUIT, syscall.SIGINT} {
		must(t, syscall.Kill(c.server().pid, how))
		revived(t, c, i+1)
		if got := remembered(t, url); got != "committed" {
			t.Errorf("after signal %v: %q", how, got)
		}
	}
}

// Two processes keep one cluster: one starts PostgreSQL again, the other adopts it, and the last to stop stops the new one.
func TestOneOfTwoKeepersStartsItAgain(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	first := kept(t, quick(dir))
	second := kept(t, quick(dir))
	must(t, syscall.Kill(first.server().pid, syscall.SIGKILL))
	revived(t, first, 1)
	revived(t, second, 1)
	if a, b := first.server().pid, second.server().pid; a != b {
		t.Errorf("they use the processes %d and %d", a, b)
	}
}

// A process that never noticed that PostgreSQL was started anew by another stops the new one as well.
func TestLastUserStopsWhatAnotherStarted(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	c := started(t, quick(dir))
	must(t, syscall.Kill(c.server().pid, syscall.SIGKILL))
	<-c.child.done
	other := started(t, quick(dir))
	if other.Adopted() {
		t.Fatal("a dead PostgreSQL was adopted")
	}
	stopped(t, other) // not the last user
	if !other.alive() {
		t.Fatal("PostgreSQL was stopped under a process that uses it")
	}
	stopped(t, c)
	if other.alive() {
		t.Error("PostgreSQL runs after its last user has stopped")
	}
}

// Backends that a killed PostgreSQL has left keep its memory: a start waits until they have noticed.
func TestAStartWaitsForSurvivors(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	c := started(t, quick(dir))
	survivor := query[int](t, c.AdminURL(), "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'")
	must(t, syscall.Kill(survivor, syscall.SIGSTOP))
	t.Cleanup(func() { _ = syscall.Kill(survivor, syscall.SIGCONT) }) // or it stays when the test fails
	must(t, syscall.Kill(c.server().pid, syscall.SIGKILL))
	<-c.child.done
	next := make(chan *Cluster, 1)
	go func() {
		n, err := Start(context.WithoutCancel(t.Context()), quick(dir))
		if err != nil {
			t.Error(err)
		}
		next <- n
	}()
	eventually(t, "a start meets the survivor", func() bool { return strings.Contains(readFrom(c.lay.log(), 0), "pre-existing shared memory block") })
	must(t, syscall.Kill(survivor, syscall.SIGCONT))
	if n := <-next; n != nil {
		stopped(t, n)
	}
	stopped(t, c)
}

// A program that is being started holds a copy of every descriptor until its exec: a lock that is given back meanwhile is free.
func TestAReleasedLockIsFreeBesideAFork(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	held, err := openLock(path)
	must(t, err)
	next, err := openLock(path)
	must(t, err)
	defer next.release()
	ok, err := held.try(true)
	must(t, err)
	forked, err := syscall.Dup(int(held.file.Fd()))
	must(t, err)
	defer syscall.Close(forked)
	if taken, err := next.try(true); !ok || taken || err != nil {
		t.Fatalf("held %v, taken %v, %v", ok, taken, err)
	}
	held.release()
	if taken, err := next.try(true); !taken || err != nil {
		t.Errorf("after the release: taken %v, %v", taken, err)
	}
}

// Where there is no room for a socket's path the port is the address: it stays the same.
func TestPortSurvivesARestart(t *testing.T) {
	t.Parallel()
	dir := dataDir(t) + "/" + strings.Repeat("long", 25)
	c := kept(t, quick(dir))
	url := c.URL()
	must(t, syscall.Kill(c.server().pid, syscall.SIGQUIT))
	revived(t, c, 1)
	if c.URL() != url {
		t.Error("the address changed")
	}
	if got := query[int](t, url, "SELECT 1"); got != 1 {
		t.Errorf("SELECT 1 = %d", got)
	}
}

func TestFilesThatAreGoneAreNotMadeAnew(t *testing.T) {
	t.Parallel()
	c := started(t, quick(dataDir(t)))
	must(t, syscall.Kill(c.server().pid, syscall.SIGQUIT))
	<-c.child.done
	must(t, os.Rename(c.lay.cluster(), c.lay.cluster()+".away"))
	if err := c.revive(t.Context()); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("reviving without files: %v", err)
	}
	if _, err := os.Stat(c.lay.cluster()); err == nil {
		t.Error("a new cluster was made")
	}
	must(t, os.Rename(c.lay.cluster()+".away", c.lay.cluster()))
	stopped(t, c)
}

// The log is bounded while PostgreSQL writes to it, and nothing it writes later leaves a hole.
func TestLogStaysSmall(t *testing.T) {
	t.Parallel()
	c := kept(t, quick(dataDir(t)))
	f, err := os.OpenFile(c.lay.log(), os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	_, err = f.WriteString(strings.Repeat("a line of thirty-two characters\n", maxLog/32+1))
	must(t, err)
	must(t, f.Close())
	eventually(t, "the log is cut", func() bool {
		info, err := os.Stat(c.lay.log())
		return err == nil && info.Size() < maxLog
	})
	must(t, syscall.Kill(c.server().pid, syscall.SIGHUP)) // which it logs
	eventually(t, "PostgreSQL goes on writing", func() bool {
		text, err := os.ReadFile(c.lay.log())
		return err == nil && len(text) > 0 && len(text) < 4096 && text[0] != 0 && strings.Contains(string(text), "SIGHUP")
	})
	before, err := os.ReadFile(c.lay.log() + ".1")
	if err != nil || !strings.Contains(string(before), "a line of thirty-two") {
		t.Errorf("what was set aside: %d bytes, %v", len(before), err)
	}
}
