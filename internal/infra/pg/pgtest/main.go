package pgtest

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Check watches something over all tests of a package: it is called before them and what it returns after them.
type Check func() (after func() error)

// NoLeaks is the check that no goroutine outlives the tests of a package.
func NoLeaks() (after func() error) {
	before := goleak.IgnoreCurrent()
	return func() error { return goleak.Find(before) }
}

// Main runs the tests of a package with a cluster to take databases from, and ends the process with their exit code, or
// 1 if a check fails. It is the whole body of TestMain.
func Main(m *testing.M, checks ...Check) {
	os.Exit(run(m, checks))
}

func run(m *testing.M, checks []Check) (code int) {
	if os.Getenv(EnvURL) == "" {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		c, err := StartCluster(ctx, nil)
		if err != nil {
			fmt.Fprintln(os.Stderr, "pgtest:", err)
			return 1
		}
		defer func() {
			if err := c.Stop(context.Background()); err != nil {
				fmt.Fprintln(os.Stderr, "pgtest:", err)
				code = 1
			}
		}()
		// Set in the environment because second processes that tests start need it as well.
		for name, value := range map[string]string{EnvURL: c.URL(), EnvAdminURL: c.AdminURL()} {
			if err := os.Setenv(name, value); err != nil {
				fmt.Fprintln(os.Stderr, "pgtest:", err)
				return 1
			}
		}
	}
	var after []func() error
	for _, check := range checks {
		after = append(after, check())
	}
	code = m.Run()
	for _, done := range after {
		if err := done(); err != nil && code == 0 {
			fmt.Fprintln(os.Stderr, "pgtest:", err)
			code = 1
		}
	}
	return code
}
