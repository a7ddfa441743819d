package report

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
)

// Machine is what the figures were measured on. It names no host, no user and
// no path: results are published.
type Machine struct {
	Cores      int
	MemoryMB   int
	CPU        string
	Kernel     string
	Go         string
	PostgreSQL string
	Commit     string
	When       string // day, UTC
}

// ThisMachine reads everything but the server's version.
func ThisMachine(postgres, day string) Machine {
	m := Machine{Cores: runtime.NumCPU(), Go: runtime.Version(), PostgreSQL: postgres, When: day, Commit: commit()}
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) == nil {
		m.MemoryMB = int(uint64(info.Totalram) * uint64(info.Unit) >> 20)
	}
	if raw, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		// What follows the number names the builder of the kernel.
		m.Kernel, _, _ = strings.Cut(strings.TrimSpace(string(raw)), "-")
	}
	if raw, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		m.CPU = cpuModel(string(raw))
	}
	return m
}

func cpuModel(cpuinfo string) string {
	for line := range strings.Lines(cpuinfo) {
		name, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// commit is the checkout's, with a mark where files differ from it.
func commit() string {
	if out, err := exec.Command("git", "-c", "safe.directory=*", "describe", "--always", "--dirty", "--exclude=*").Output(); err == nil {
		return strings.TrimSpace(string(out))
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return "unknown"
}

func (m Machine) markdown() string {
	var b strings.Builder
	b.WriteString("| machine | |\n|---|---|\n")
	for _, row := range [][2]string{
		{"cores", strconv.Itoa(m.Cores)}, {"processor", m.CPU}, {"memory", Number(float64(m.MemoryMB)) + " MB"}, {"kernel", m.Kernel},
		{"Go", m.Go}, {"PostgreSQL", m.PostgreSQL + ", fsync on"}, {"commit", m.Commit}, {"day", m.When},
	} {
		if row[1] != "" {
			fmt.Fprintf(&b, "| %s | %s |\n", row[0], row[1])
		}
	}
	return b.String()
}
