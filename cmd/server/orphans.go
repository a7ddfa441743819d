package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// orphanAge is how long a dead process has to lie there before it counts as an
// orphan: those we started are collected at once by who waits for them.
const orphanAge = 2 * time.Second

// collectOrphans lets the kernel forget dead processes that nobody waits for.
// As the first process of a container every orphan becomes a child of ours:
// the backends of a PostgreSQL that was killed, for one. Elsewhere init does it.
func collectOrphans(ctx context.Context) {
	if os.Getpid() != 1 {
		return
	}
	died := make(chan os.Signal, 1)
	signal.Notify(died, syscall.SIGCHLD)
	defer signal.Stop(died)
	var before []int
	for {
		var again <-chan time.Time
		if len(before) > 0 {
			again = time.After(orphanAge)
		}
		select {
		case <-ctx.Done():
			return
		case <-died:
			// Looked at after a while: most are collected by then.
			select {
			case <-ctx.Done():
				return
			case <-time.After(orphanAge):
			}
		case <-again:
		}
		dead := deadChildren()
		for _, pid := range dead {
			if slices.Contains(before, pid) {
				_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // gone is what it should be
			}
		}
		before = dead
	}
}

// deadChildren lists children of this process that have ended and are still
// in the process table.
func deadChildren() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	self := strconv.Itoa(os.Getpid())
	var dead []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		// "4711 (postgres) Z 1 …", proc(5); the name may hold anything.
		text := string(stat)
		fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
		if len(fields) > 1 && fields[0] == "Z" && fields[1] == self {
			dead = append(dead, pid)
		}
	}
	return dead
}
