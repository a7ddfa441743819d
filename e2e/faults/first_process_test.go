//go:build linux

package faults

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/e2e/blackbox"
)

// The private PostgreSQL is killed under a running server: the server starts
// it again by itself, says so, and goes on.
func TestPrivatePostgresKilled(t *testing.T) {
	t.Parallel()
	dir := privateDir(t, 0)
	s, o := private(t, dir)
	for n := range 2 {
		title := fmt.Sprintf("Before %d", n)
		// The outage before may not be over for every connection.
		err := blackbox.Eventually(t.Context(), 20*time.Second, func() error {
			return o.Call(t.Context(), s, "corpus.create", map[string]any{"genre": "wiki", "title": title, "body": fmt.Sprintf("bodyof%d", n), "published": true}, nil)
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(postmaster(t, s.PID()), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		// A connection outlives its postmaster by a moment: what is found before this was found in the old one.
		err = blackbox.Eventually(t.Context(), 60*time.Second, func() error {
			if strings.Count(s.Log(1<<20), "the private PostgreSQL runs again") <= n {
				return errors.New("the private PostgreSQL is not started again")
			}
			if !found(t, s, fmt.Sprintf("bodyof%d", n), title) {
				return fmt.Errorf("%s is not found", title)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var health struct {
		Reasons []struct{ Code string }
	}
	err := blackbox.Eventually(t.Context(), 60*time.Second, func() error {
		if err := o.Call(t.Context(), s, "tasks.health", map[string]any{}, &health); err != nil {
			return err
		}
		if !strings.Contains(fmt.Sprint(health.Reasons), "database_died") {
			return fmt.Errorf("the panel does not tell of it: %v", health.Reasons)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if lines := strings.Count(s.Log(1<<20), "\n"); lines > 60 {
		t.Errorf("two short outages are %d lines of log", lines)
	}
	s.Signal(syscall.SIGTERM)
	if code, err := s.Ended(0); code != 0 || err != nil {
		t.Errorf("the server ended with %d, %v", code, err)
	}
}

// As the first process of its own PID namespace, as in a container, the server
// collects what dies around it and stops cleanly with its PostgreSQL (field case F09).
func TestFirstProcess(t *testing.T) {
	t.Parallel()
	wrap := []string{"unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--"}
	if out, err := exec.Command(wrap[0], append(wrap[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("no PID namespace of one's own can be had here: %v %s", err, out)
	}
	dir := privateDir(t, 0)
	s, err := blackbox.Prepare(binary(), "", dir)
	if err != nil {
		t.Fatal(err)
	}
	s.Wrap(wrap...)
	t.Cleanup(func() {
		s.Signal(syscall.SIGKILL) // unshare, which takes its child with it
		if t.Failed() {
			t.Logf("the server said:\n%s", s.Log(4000))
		}
	})
	again(t, s)
	readyWithDatabase(t, s)
	inner := childrenOf(s.PID())
	if len(inner) != 1 {
		t.Fatalf("unshare has the children %v", inner)
	}
	first := inner[0]
	// Backends that lose their parent become the server's children, and die.
	if err := syscall.Kill(postmaster(t, first), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	err = blackbox.Eventually(t.Context(), 60*time.Second, func() error {
		if err := s.Said("the private PostgreSQL runs again"); err != nil {
			return err
		}
		for _, pid := range childrenOf(first) {
			if _, state := nameAndState(pid); state == "Z" {
				return fmt.Errorf("process %d is dead and not collected", pid)
			}
		}
		return s.Answers(t.Context())
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(first, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	code, err := s.Ended(30 * time.Second)
	if err != nil || code != 0 {
		t.Errorf("the first process ended with %d, %v", code, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "postgres", "cluster", "data", "postmaster.pid")); !os.IsNotExist(err) {
		t.Errorf("PostgreSQL was not stopped in order: %v", err)
	}
}

// postmaster is the PostgreSQL that process pid has started.
func postmaster(t *testing.T, pid int) int {
	t.Helper()
	var found int
	err := blackbox.Eventually(t.Context(), 20*time.Second, func() error {
		for _, child := range childrenOf(pid) {
			if name, state := nameAndState(child); name == "postgres" && state != "Z" && len(childrenOf(child)) > 0 {
				found = child
				return nil
			}
		}
		return fmt.Errorf("process %d has no PostgreSQL", pid)
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func childrenOf(pid int) (children []int) {
	all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range all {
		text, _ := os.ReadFile(file)
		for word := range strings.FieldsSeq(string(text)) {
			if n, err := strconv.Atoi(word); err == nil {
				children = append(children, n)
			}
		}
	}
	return children
}

// nameAndState reads "4711 (postgres) S 1 …", proc(5).
func nameAndState(pid int) (name, state string) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", ""
	}
	head, rest, _ := strings.Cut(string(text), ") ")
	_, name, _ = strings.Cut(head, "(")
	state, _, _ = strings.Cut(rest, " ")
	return name, state
}
