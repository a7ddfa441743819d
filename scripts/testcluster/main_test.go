package main

import (
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line    string
		command string
		fsync   string
		ok      bool
	}{
		{line: "-- go test", command: "go test", ok: true},
		{line: "-set fsync=a=b -- c -set x=y", command: "c -set x=y", fsync: "a=b", ok: true},
		{line: "-durable -- c", command: "c", fsync: "on", ok: true},
		{line: "-durable -set fsync=off -- c", command: "c", fsync: "off", ok: true},
		{line: "--"},
		{line: "go test"},
		{line: "-set"},
		{line: "-set fsync -- c"},
		{line: "-durable"},
		{line: ""},
	} {
		settings, command, ok := parse(strings.Fields(c.line))
		if ok != c.ok || !slices.Equal(command, strings.Fields(c.command)) || settings["fsync"] != c.fsync {
			t.Errorf("%q: %v %q %v", c.line, settings, command, ok)
		}
	}
}
