package embedded

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// standardSettings fit one Gatehouse on a small machine. ALTER SYSTEM overrides any of them: it is read last.
func standardSettings() map[string]string {
	return map[string]string{
		"max_connections":     "100",
		"shared_buffers":      "128MB",
		"synchronous_commit":  "on",
		"wal_compression":     "on",
		"max_wal_size":        "1GB",
		"password_encryption": "scram-sha-256",
		"timezone":            "UTC",
		"log_timezone":        "UTC",
		"lc_messages":         "C",
		// Compiling a plan takes longer than running any query of ours.
		"jit": "off",
		// Solid state disks; the default assumes a spinning one and turns index scans away.
		"random_page_cost": "1.1",
		// The log stays small: what a statement did wrong is told to Gatehouse, which logs it itself. What only
		// PostgreSQL knows (LOG, FATAL, PANIC) is written.
		"log_min_messages":  "log",
		"log_checkpoints":   "off",
		"log_line_prefix":   "%m [%p] ",
		"logging_collector": "off",
	}
}

// writeSettings writes the configuration file PostgreSQL is started with: initdb's own, then ours over it. It lies
// outside the cluster's directory: as root we write no file where the database's user could have put a link.
func (l layout) writeSettings(extra map[string]string) (path string, err error) {
	all := standardSettings()
	maps.Copy(all, extra)
	var b strings.Builder
	b.WriteString("# Written at every start. To change a setting for good use ALTER SYSTEM, which is read after this file.\n")
	b.WriteString("include 'cluster/data/postgresql.conf'\n")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b.WriteString(name + " = '" + strings.ReplaceAll(all[name], "'", "''") + "'\n")
	}
	path = l.home + "/postgresql.conf"
	fresh := path + ".new"
	if err := os.WriteFile(fresh, []byte(b.String()), 0o644); err != nil {
		return "", unwritable(l.dataDir, err)
	}
	if err := os.Chmod(fresh, 0o644); err != nil { // whatever the umask: under root the database's user reads it
		return "", unwritable(l.dataDir, err)
	}
	if err := os.Rename(fresh, path); err != nil {
		return "", unwritable(l.dataDir, err)
	}
	return path, nil
}

// address is where a PostgreSQL about to be started will listen: the socket, or a loopback port when that path
// cannot be used.
func (l layout) address() ([]string, error) {
	if l.socketUsable() {
		return []string{"-c", "listen_addresses=", "-c", "unix_socket_directories=" + quoteListItem(l.socketDir()),
			"-c", "port=" + strconv.Itoa(socketPort)}, nil
	}
	port, err := l.port()
	if err != nil {
		return nil, err
	}
	return []string{"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
		"-c", "port=" + strconv.Itoa(port)}, nil
}

// port is the loopback port of the cluster: the one it had before if nobody else has it now, because processes that use
// the cluster know its address by that port.
func (l layout) port() (int, error) {
	file := filepath.Join(l.home, "port")
	if text, err := os.ReadFile(file); err == nil {
		if kept, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && free(kept) {
			return kept, nil
		}
	}
	port, err := freePort()
	if err != nil {
		return 0, err
	}
	return port, unwritable(l.dataDir, os.WriteFile(file, []byte(strconv.Itoa(port)+"\n"), 0o600))
}

// quoteListItem protects a path with spaces or quotes in a setting that is a list of paths.
func quoteListItem(path string) string {
	return `"` + strings.ReplaceAll(path, `"`, `""`) + `"`
}
