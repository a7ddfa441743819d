package pgtest

import (
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// watchdog is a small shell that waits for the end of this process, which it sees by the end of its input, then stops
// what PostgreSQL is left in dir and removes dir. A panic, a time-out of `go test` and SIGKILL run no deferred call of
// ours; a pipe is closed by the kernel in each case.
type watchdog struct {
	cmd   *exec.Cmd
	leash io.Closer
}

const watchdogScript = `
cat >/dev/null
file=$1/postgres/cluster/data/postmaster.pid
if read -r pid <"$file"; then
	kill -INT "$pid"
	n=0
	while [ -e "$file" ] && kill -0 "$pid" && [ $n -lt 100 ]; do sleep 0.05; n=$((n + 1)); done
	[ -e "$file" ] && kill -KILL "$pid"
fi
rm -rf "$1"
`

func watch(dir string) (*watchdog, error) {
	cmd := exec.Command("/bin/sh", "-c", watchdogScript, "sh", dir)
	cmd.Dir = "/"
	// Its own process group: Ctrl-C must not reach it before its work is due. No output: `go test` would wait for it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	leash, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("make the watchdog's pipe: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the watchdog of the test cluster: %w", err)
	}
	return &watchdog{cmd: cmd, leash: leash}, nil
}

// dismiss lets the watchdog do its work now and waits for it.
func (w *watchdog) dismiss() error {
	if err := w.leash.Close(); err != nil {
		return fmt.Errorf("dismiss the watchdog: %w", err)
	}
	if err := w.cmd.Wait(); err != nil {
		return fmt.Errorf("remove the test cluster: %w", err)
	}
	return nil
}
