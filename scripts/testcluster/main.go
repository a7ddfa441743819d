// Testcluster runs a command with a PostgreSQL for tests:
//
//	go run ./scripts/testcluster [-durable] [-set NAME=VALUE]... -- COMMAND [ARGUMENT]...
//
// The command finds it in GATEHOUSE_TEST_DATABASE_URL. The cluster is private and temporary. It gives durability up for
// speed; with -durable it keeps it, as a benchmark must. -set changes a setting of PostgreSQL. The exit code is the command's (128 plus
// the signal that ended it); `go run` itself reports any failure as 1.
package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

func main() {
	settings, command, ok := parse(os.Args[1:])
	if !ok {
		fmt.Fprintln(os.Stderr, "usage: testcluster [-durable] [-set NAME=VALUE]... -- COMMAND [ARGUMENT]...")
		os.Exit(2)
	}
	code, err := run(settings, command)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testcluster:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// parse does not use package flag, which would take the command's own flags when the "--" is forgotten.
func parse(args []string) (settings map[string]string, command []string, ok bool) {
	settings = map[string]string{}
	for len(args) > 1 {
		switch args[0] {
		case "--":
			return settings, args[1:], true
		case "-durable":
			maps.Copy(settings, pgtest.DurableSettings())
			args = args[1:]
		case "-set":
			name, value, ok := strings.Cut(args[1], "=")
			if !ok {
				return nil, nil, false
			}
			settings[name] = value
			args = args[2:]
		default:
			return nil, nil, false
		}
	}
	return nil, nil, false
}

func run(settings map[string]string, command []string) (code int, err error) {
	// A signal ends the command, not us: the cluster is stopped after it.
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	cluster, err := pgtest.StartCluster(ctx, settings)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, cluster.Stop(context.Background())) }()

	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	cmd.Env = append(os.Environ(), cluster.Env()...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return exitCode(cmd.Run())
}

// exitCode is what a shell would report; the error is nil unless the command could not be run or waited for.
func exitCode(err error) (int, error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case !errors.As(err, &exit):
		return 1, err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return exit.ExitCode(), nil
}
