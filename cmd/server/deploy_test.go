package main

import (
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
	"github.com/gatehouse-hq/gatehouse/internal/web/admin"
)

const deployDir = "../../deploy"

func deployed(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(deployDir, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// knownSettings are the variables that this program reads.
func knownSettings(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile("config.go")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range regexp.MustCompile(`env\("([A-Z_]+)"\)`).FindAllStringSubmatch(string(raw), -1) {
		all = append(all, m[1])
	}
	if len(all) < 10 {
		t.Fatalf("found only %v", all)
	}
	return all
}

// What is handed out for running it names only settings that exist.
func TestDeployNamesOnlySettingsThatExist(t *testing.T) {
	t.Parallel()
	known := knownSettings(t)
	word := regexp.MustCompile(`\b(GATEHOUSE_[A-Z_]+|DATABASE_URL)\b`)
	files := 0
	err := filepath.WalkDir(deployDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		for _, name := range word.FindAllString(string(raw), -1) {
			if !slices.Contains(known, name) {
				t.Errorf("%s names %s, which no program reads", path, name)
			}
		}
		return nil
	})
	if err != nil || files < 6 {
		t.Errorf("looked at %d files, %v", files, err)
	}
	// And the manual names every one.
	page, err := os.ReadFile("../../docs/guide/Running/Settings and environment.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range known {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("the page of settings does not name %s", name)
		}
	}
}

func isCommand(name string) bool {
	return slices.ContainsFunc(commands(), func(c command) bool { return c.name == name })
}

func TestContainerFileMeetsTheProgram(t *testing.T) {
	t.Parallel()
	text := deployed(t, "container/Containerfile")
	one := func(pattern string) string {
		t.Helper()
		m := regexp.MustCompile(`(?m)` + pattern).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("the container file has no line like %s", pattern)
		}
		return m[1]
	}
	for _, name := range []string{one(`^HEALTHCHECK .*CMD \["/gatehouse", "(\w+)"\]$`), one(`^CMD \["(\w+)"\]$`)} {
		if !isCommand(name) {
			t.Errorf("there is no command %q", name)
		}
	}
	_, port, err := net.SplitHostPort(one(`\bGATEHOUSE_ADDR=(\S+)`))
	if err != nil || port != one(`^EXPOSE (\d+)$`) {
		t.Errorf("it listens on %s and exposes another port (%v)", port, err)
	}
	if dir := one(`\bGATEHOUSE_DATA_DIR=(\S+)`); `"`+dir+`"` != one(`^VOLUME \[(.+)\]$`) {
		t.Errorf("its data goes to %s, which is no volume", dir)
	}
	if one(`^USER (\d+):\d+$`) == "0" {
		t.Error("it runs as root")
	}
	for _, path := range []string{"./cmd/server"} {
		if !strings.Contains(text, path) {
			t.Errorf("it does not build %s", path)
		}
	}
	raw, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	wants := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(raw)
	if have := one(`^FROM golang:(\d+\.\d+)`); have != string(wants[1]) {
		t.Errorf("it builds with Go %s, go.mod wants %s", have, wants[1])
	}
}

func TestComposeFileMeetsTheProgram(t *testing.T) {
	t.Parallel()
	var file struct {
		Services map[string]struct {
			Image       string
			Build       struct{ Context, Dockerfile string }
			Environment map[string]string
			Ports       []string
			User        string
			ReadOnly    bool `yaml:"read_only"`
			Volumes     []string
			Networks    []string
			DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
			Healthcheck map[string]any
		}
		Networks map[string]any
		Volumes  map[string]any
	}
	if err := yaml.Unmarshal([]byte(deployed(t, "container/compose.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	site := file.Services["gatehouse"]
	if _, err := os.Stat(filepath.Join(deployDir, "container", site.Build.Context, site.Build.Dockerfile)); err != nil {
		t.Error(err)
	}
	if !site.ReadOnly || site.User == "" || strings.HasPrefix(site.User, "0") {
		t.Errorf("the root is writable or the user is root: %q", site.User)
	}
	// What it is given can be read, once every blank is filled in.
	blank := regexp.MustCompile(`\$\{(\w+):([-?])([^}]*)\}`)
	given := map[string]string{"GATEHOUSE_DATA_DIR": "/data"}
	for name, value := range site.Environment {
		given[name] = blank.ReplaceAllStringFunc(value, func(b string) string {
			if m := blank.FindStringSubmatch(b); m[2] == "-" {
				return m[3]
			}
			return strings.Repeat("ab", 32)
		})
	}
	cfg, err := readConfig(func(name string) string { return given[name] })
	if err != nil {
		t.Error(err)
	}
	// Each other service that it is told of is there, and holds until it is needed.
	for _, host := range regexp.MustCompile(`(?:@|//)(\w+):\d+`).FindAllStringSubmatch(cfg.databaseURL+" "+cfg.meiliURL, -1) {
		if _, ok := file.Services[host[1]]; !ok {
			t.Errorf("it is sent to %q, which is no service", host[1])
		}
	}
	for name, d := range site.DependsOn {
		if d.Condition == "service_healthy" && file.Services[name].Healthcheck == nil {
			t.Errorf("it waits for %s to be healthy, which nothing checks", name)
		}
	}
	for name, s := range file.Services {
		for _, v := range s.Volumes {
			if volume, _, _ := strings.Cut(v, ":"); !hasKey(file.Volumes, volume) {
				t.Errorf("%s uses the volume %q, which is not declared", name, volume)
			}
		}
		for _, n := range s.Networks {
			if !hasKey(file.Networks, n) {
				t.Errorf("%s uses the network %q, which is not declared", name, n)
			}
		}
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("%s is open to the world at %s", name, p)
			}
		}
	}
}

func hasKey[V any](m map[string]V, key string) bool {
	_, ok := m[key]
	return ok
}

// The unit is well-formed and closed, by systemd's own judgement where it is
// installed, with a program that exists in place of ours.
func TestUnitIsSoundAndClosed(t *testing.T) {
	t.Parallel()
	text := deployed(t, "systemd/gatehouse.service")
	start := regexp.MustCompile(`(?m)^ExecStart=(\S+) (\w+)$`).FindStringSubmatch(text)
	if start == nil || !isCommand(start[2]) {
		t.Fatalf("it starts %v", start)
	}
	for _, line := range []string{"ProtectSystem=strict", "NoNewPrivileges=yes", "CapabilityBoundingSet=", "User=gatehouse", "StateDirectory=gatehouse", "KillMode=mixed"} {
		if !slices.Contains(strings.Split(text, "\n"), line) {
			t.Errorf("it lacks %s", line)
		}
	}
	if !strings.HasPrefix(deployed(t, "systemd/gatehouse.sysusers"), "u gatehouse ") {
		t.Error("nobody makes the user that it runs as")
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed: the unit was not verified")
	}
	unit := filepath.Join(t.TempDir(), "gatehouse.service")
	if err := os.WriteFile(unit, []byte(strings.Replace(text, "ExecStart="+start[1], "ExecStart=/bin/true", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command(analyze, "verify", "--man=no", unit).CombinedOutput(); err != nil || strings.Contains(string(said), "gatehouse.service") {
		t.Errorf("verify: %v\n%s", err, said)
	}
	// 0 is closed, 10 open. Older versions know no judgement without a running systemd.
	said, err := exec.Command(analyze, "security", "--offline=true", "--threshold=20", unit).CombinedOutput()
	if err != nil && strings.Contains(string(said), "exposure") {
		lines := strings.Split(strings.TrimSpace(string(said)), "\n")
		t.Errorf("security: %v, %s", err, lines[len(lines)-1])
	}
}

func TestProxyExamplesMeetTheProgram(t *testing.T) {
	t.Parallel()
	nginx := deployed(t, "proxy/nginx.conf")
	if !strings.Contains(nginx, "location = "+admin.LivePath+" {") {
		t.Errorf("nginx has no location for %s", admin.LivePath)
	}
	c, err := readConfig(env(nil))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"nginx": nginx, "Caddy": deployed(t, "proxy/Caddyfile")} {
		if !strings.Contains(text, c.addr) {
			t.Errorf("%s does not lead to %s", name, c.addr)
		}
	}
}

func TestHealthcheckTellsLifeFromDeath(t *testing.T) {
	t.Parallel()
	s := serveAll(t)
	answer, err := http.Get(s.url + healthPath)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("%s answers %d", healthPath, answer.StatusCode)
	}
	address := strings.TrimPrefix(s.url, "http://")
	if code, out, said := asked(t, map[string]string{"GATEHOUSE_ADDR": address}, "healthcheck"); code != 0 || out+said != "" {
		t.Errorf("alive: %d %s%s", code, out, said)
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	if code, _, said := asked(t, map[string]string{"GATEHOUSE_ADDR": "0.0.0.0:" + port}, "healthcheck"); code != 0 {
		t.Errorf("alive, listening everywhere: %d %s", code, said)
	}
	if code, _, said := asked(t, map[string]string{"GATEHOUSE_ADDR": "127.0.0.1:1"}, "healthcheck"); code != 1 || !strings.Contains(said, "127.0.0.1:1") {
		t.Errorf("dead: %d %s", code, said)
	}
	worker := map[string]string{"GATEHOUSE_ROLE": "worker", "DATABASE_URL": pgtest.URL(t)}
	if code, _, said := asked(t, worker, "healthcheck"); code != 0 {
		t.Errorf("worker: %d %s", code, said)
	}
	worker["DATABASE_URL"] = "postgres://me@127.0.0.1:1/nothing"
	if code, _, _ := asked(t, worker, "healthcheck"); code != 1 {
		t.Errorf("worker without its database: %d", code)
	}
}
