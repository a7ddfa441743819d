// Command gates holds the rules of this project that a compiler cannot hold: who may import whom, where a transaction
// may begin, how long a function may grow. Each rule is one gate; scripts/check-<gate>.sh runs it.
//
//	go run ./scripts/gates size
//
// A gate is silent when it is content. Otherwise it names each place and the rule, and the exit code is 1. A gate that
// looked at suspiciously little fails as well: a rule that scans nothing would pass for ever.
package main

import (
	"fmt"
	"os"
	"sort"
)

// finding is one place that breaks a rule.
type finding struct {
	where string // path, or path:line, from the root of the checkout
	rule  string // what is asked, and of whom
}

// gate is one rule over the whole checkout.
type gate struct {
	name  string
	unit  string // what it counts while scanning
	least int    // fewer than this is suspicious
	run   func(*checkout) (scanned int, found []finding, err error)
}

// gates lists every rule; scripts/check-<name>.sh exists for each.
func gates() []gate {
	return []gate{
		{"deps", "packages", 40, checkDeps},
		{"queue-behind-port", "packages", 40, checkQueueBehindPort},
		{"side-effects-behind-bus", "packages", 40, checkSideEffects},
		{"retry-only-in-jobs", "Go files", 350, checkRetry},
		{"tx-only-via-pg", "Go files", 350, checkTransactions},
		{"no-bare-goroutine", "Go files", 350, checkGoroutines},
		{"periodic-via-jobs", "Go files", 350, checkTickers},
		{"table-event-policy", "tables", 15, checkTablePolicy},
		{"events", "event types", 5, checkEvents},
		{"csp", "views", 30, checkCSP},
		{"size", "files", 400, checkSize},
		{"machine", "files", 500, checkMachine},
		{"make-targets", "paths and targets", 30, checkMakeTargets},
	}
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gates NAME")
		os.Exit(2)
	}
	for _, g := range gates() {
		if g.name == os.Args[1] {
			os.Exit(report(g))
		}
	}
	fmt.Fprintf(os.Stderr, "no gate is called %q\n", os.Args[1])
	os.Exit(2)
}

func report(g gate) int {
	scanned, found, err := g.run(&checkout{root: "."})
	if err != nil {
		fmt.Printf("%s: %v\n", g.name, err)
		return 1
	}
	if scanned < g.least {
		fmt.Printf("%s: scanned only %d %s, expected at least %d: is it run at the root of the checkout?\n",
			g.name, scanned, g.unit, g.least)
		return 1
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].where < found[j].where })
	for _, f := range found {
		fmt.Printf("%s: %s: %s\n", g.name, f.where, f.rule)
	}
	if len(found) > 0 {
		return 1
	}
	return 0
}
