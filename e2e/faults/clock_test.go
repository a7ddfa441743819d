package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// clockSource is a library that stands between PostgreSQL and the system's
// clock. A Go program asks the kernel itself, so it is the database whose clock
// is moved: what the servers meet is the same.
const clockSource = `
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t which, struct timespec *now) {
	int failed = syscall(SYS_clock_gettime, which, now);
	if (!failed && which == CLOCK_REALTIME) now->tv_sec += SHIFT;
	return failed;
}
int gettimeofday(struct timeval *now, void *zone) {
	struct timespec t;
	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &t)) return -1;
	now->tv_sec = t.tv_sec;
	now->tv_usec = t.tv_nsec / 1000;
	return 0;
}
time_t time(time_t *now) {
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	if (now) *now = t.tv_sec;
	return t.tv_sec;
}
`

// shiftedClock builds the library and returns its path.
func shiftedClock(t *testing.T, seconds int) string {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("the clock of PostgreSQL is moved by a small library, which needs Linux and a C compiler")
	}
	dir := privateDir(t, 0)
	source, library := filepath.Join(dir, "clock.c"), filepath.Join(dir, "clock.so")
	if err := os.WriteFile(source, []byte(clockSource), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(compiler, "-shared", "-fPIC", "-O1", fmt.Sprintf("-DSHIFT=(%d)", seconds), "-o", library, source).CombinedOutput(); err != nil {
		t.Skipf("the library that moves the clock cannot be built: %v\n%s", err, out)
	}
	if err := os.Chmod(library, 0o755); err != nil {
		t.Fatal(err)
	}
	return library
}

// The clocks of servers and database differ by two seconds, either way: work
// goes on, takeover included, and the panel says so.
func TestClocksDiffer(t *testing.T) {
	t.Parallel()
	for _, ahead := range []int{2, -2} {
		t.Run(fmt.Sprintf("database %+d s", ahead), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setup{servers: 2, hooks: 2, own: true, clock: ahead})
			var skew int64
			w.must(w.pool.QueryRow(t.Context(), `select max(abs(skew_ms)) from processes`).Scan(&skew))
			if skew < 1500 || skew > 2500 {
				t.Fatalf("the processes see a skew of %d ms: the clock was not moved", skew)
			}
			w.load(3, 9)
			w.more(20)
			w.restart(w.servers[0], func() { w.servers[0].Signal(syscall.SIGKILL) })
			w.more(20)
			w.restart(w.servers[1], func() { w.servers[1].Signal(syscall.SIGTERM) })
			w.more(20)
			w.finish()
			var health struct {
				Reasons []struct{ Code string }
			}
			w.must(w.owner.Call(t.Context(), w.servers[0], "tasks.health", map[string]any{}, &health))
			if !strings.Contains(fmt.Sprint(health.Reasons), "clock_skew") {
				t.Errorf("the panel does not tell of it: %v", health.Reasons)
			}
		})
	}
}
