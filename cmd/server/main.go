// Command server is Gatehouse: one binary that serves the site, runs the
// queue and answers the few questions an operator asks in a terminal.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	_ "time/tzdata" // the owner's time zone, also where the system has no list of them
)

// version is stamped by the build.
var version = "dev"

func main() {
	os.Exit(run(os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// exitUsage is what a shell expects for words that cannot be understood.
const exitUsage = 2

type command struct {
	name, args, what string
	run              func(ctx context.Context, p *program, args []string) error
}

// commands is everything the binary can be asked, in the order help shows it.
func commands() []command {
	return []command{
		{"serve", "", "run the site (the default)", serve},
		{"migrate", "", "bring the database to this program's schema, then stop", migrateOnly},
		{"import", "[--publish] [--name NAME] PATH", "import a folder or zip of Markdown notes", importVault},
		{"setup-link", "[--reset]", "print a one-time link to set the owner up", setupLink},
		{"backup", "DIR", "write database and seal key into a new directory; the site may be running", backup},
		{"restore", "[--replace] DIR", "bring a backup into an empty database; sends are then on hold", restore},
		{"hold", "[--reason TEXT]", "keep back all sends until you release them in the panel", putOnHold},
		{"doctor", "", "check database, search, clock, disk and keys, and say what to do", doctor},
		{"healthcheck", "", "exit with 0 when the server of these settings lives; for containers", healthcheck},
		{"version", "", "print the version", printVersion},
	}
}

// program is what every command gets: settings, and where it may write.
type program struct {
	cfg    config
	out    io.Writer
	errOut io.Writer
	forced <-chan struct{} // closed by the second signal
}

var errUsage = errors.New("usage")

// flagsOf reads the flags of a command; what is wrong with them is said before how it is used.
func flagsOf(flags *flag.FlagSet, args []string, words int) error {
	flags.SetOutput(io.Discard)
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if flags.NArg() != words {
		return errUsage
	}
	return nil
}

func run(args []string, env func(string) string, out, errOut io.Writer) int {
	name := "serve"
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	var cmd *command
	for _, c := range commands() {
		if c.name == name {
			cmd = &c
			break
		}
	}
	switch {
	case name == "help" || name == "-h" || name == "--help":
		help(out)
		return 0
	case name == "version" && len(args) == 0, name == "--version":
		fmt.Fprintln(out, "gatehouse", version) // whatever the settings are
		return 0
	case cmd == nil:
		fmt.Fprintf(errOut, "gatehouse: there is no command %q\n", name)
		help(errOut)
		return exitUsage
	case len(args) > 0 && (args[0] == "-h" || args[0] == "--help" || args[0] == "-help"):
		fmt.Fprintf(out, "usage: %s\n%s\n", strings.TrimSpace("gatehouse "+cmd.name+" "+cmd.args), cmd.what)
		return 0
	}
	cfg, err := readConfig(env)
	if err != nil {
		fmt.Fprintf(errOut, "gatehouse: the environment cannot be used:\n%v\n", err)
		return exitUsage
	}
	ctx, forced, release := stopSignals()
	defer release()
	err = cmd.run(ctx, &program{cfg: cfg, out: out, errOut: errOut, forced: forced}, args)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		if why := strings.TrimPrefix(err.Error(), errUsage.Error()+": "); why != err.Error() {
			fmt.Fprintf(errOut, "gatehouse %s: %s\n", cmd.name, why)
		}
		fmt.Fprintf(errOut, "usage: %s\n", strings.TrimSpace("gatehouse "+cmd.name+" "+cmd.args))
		return exitUsage
	default:
		fmt.Fprintf(errOut, "gatehouse %s: %v\n", cmd.name, err)
		return 1
	}
}

func help(w io.Writer) {
	fmt.Fprintln(w, "usage: gatehouse [command]")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-38s %s\n", c.name+" "+c.args, c.what)
	}
	fmt.Fprintln(w, "Settings are environment variables: see docs/guide/Running/Settings and environment.md.")
}

// stopSignals turns the first signal to stop into the end of ctx (a stop with
// grace) and the second into forced (field case F09). A closed terminal is one
// too, unless the program was started to outlive it (nohup).
func stopSignals() (ctx context.Context, forced <-chan struct{}, release func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	heard := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		heard = append(heard, syscall.SIGHUP)
	}
	signal.Notify(signals, heard...)
	force := make(chan struct{})
	done := make(chan struct{})
	go func() {
		for n := 0; n < 2; n++ {
			select {
			case <-signals:
			case <-done:
				return
			}
			if n == 0 {
				cancel()
			} else {
				close(force)
			}
		}
	}()
	return ctx, force, func() { close(done); cancel(); signal.Stop(signals) }
}

// printVersion is answered before the settings are read; what comes here has words too many.
func printVersion(context.Context, *program, []string) error { return errUsage }
