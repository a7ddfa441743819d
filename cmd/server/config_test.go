package main

import (
	"strings"
	"testing"
	"time"
)

func env(pairs map[string]string) func(string) string {
	return func(name string) string {
		if name == "GATEHOUSE_DATA_DIR" && pairs[name] == "" {
			return "/data"
		}
		return pairs[name]
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c, err := readConfig(env(nil))
	if err != nil {
		t.Fatal(err)
	}
	if c.addr != "127.0.0.1:8080" || c.role != "all" || c.baseURL.String() != "http://127.0.0.1:8080" || c.retention != 14*24*time.Hour || c.databaseWait != 5*time.Minute || c.demo {
		t.Errorf("%+v", c)
	}
}

// A wrong value is refused by a line that names the variable, the value and
// what is allowed.
func TestWrongValuesAreNamed(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"GATEHOUSE_ADDR":            "8080",
		"GATEHOUSE_BASE_URL":        "https://example.com/notes",
		"GATEHOUSE_ROLE":            "boss",
		"GATEHOUSE_METRICS_ADDR":    "metrics",
		"GATEHOUSE_TRUSTED_PROXIES": "10.0.0.0/33",
		"GATEHOUSE_EGRESS_ALLOW":    "10.0.0.0/99",
		"GATEHOUSE_EVENT_RETENTION": "soon",
		"GATEHOUSE_MEILI_URL":       "meili",
		"GATEHOUSE_DEMO":            "yes",
		"GATEHOUSE_WEBHOOK_WORKERS": "0",
		"GATEHOUSE_POOL_SIZE":       "35", // below what the queues need
		"GATEHOUSE_DATABASE_WAIT":   "for ever",
	} {
		_, err := readConfig(env(map[string]string{name: value}))
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), value) {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
}

func TestSecretsAreNotRepeated(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"DATABASE_URL":          "mysql://me:plumsecret@localhost/db",
		"GATEHOUSE_SETUP_TOKEN": "plumsecret",
	} {
		_, err := readConfig(env(map[string]string{name: value}))
		if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "plumsecret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEveryWrongValueIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	_, err := readConfig(env(map[string]string{"GATEHOUSE_ROLE": "boss", "GATEHOUSE_DEMO": "2"}))
	if err == nil || !strings.Contains(err.Error(), "GATEHOUSE_ROLE") || !strings.Contains(err.Error(), "GATEHOUSE_DEMO") {
		t.Error(err)
	}
}

func TestRightValues(t *testing.T) {
	t.Parallel()
	c, err := readConfig(env(map[string]string{
		"DATABASE_URL": "postgres://me@localhost/db", "GATEHOUSE_DATABASE_WAIT": "90s", "GATEHOUSE_ADDR": "[::1]:80", "GATEHOUSE_BASE_URL": "https://notes.example.com/",
		"GATEHOUSE_TRUSTED_PROXIES": "127.0.0.1, 10.0.0.0/8", "GATEHOUSE_EVENT_RETENTION": "30d", "GATEHOUSE_ROLE": "worker", "GATEHOUSE_DEMO": "1",
	}))
	if err != nil {
		t.Fatal(err)
	}
	if c.baseURL.String() != "https://notes.example.com" || len(c.trustedProxies) != 2 || c.retention != 30*24*time.Hour || c.databaseWait != 90*time.Second || !c.demo {
		t.Errorf("%+v", c)
	}
}

func TestUnknownCommandSaysWhatThereIs(t *testing.T) {
	t.Parallel()
	var out, errOut strings.Builder
	if code := run([]string{"frobnicate"}, env(nil), &out, &errOut); code != exitUsage || !strings.Contains(errOut.String(), "setup-link") {
		t.Errorf("%d %s", code, errOut.String())
	}
	if code := run([]string{"version"}, env(nil), &out, &errOut); code != 0 || !strings.Contains(out.String(), "gatehouse") {
		t.Errorf("%d %s", code, out.String())
	}
}

func TestHelpIsAnAnswer(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"help", "-h", "--help"} {
		var out, errOut strings.Builder
		if code := run([]string{word}, env(nil), &out, &errOut); code != 0 || errOut.Len() > 0 || !strings.Contains(out.String(), "import [--publish]") {
			t.Errorf("%s: %d %s%s", word, code, out.String(), errOut.String())
		}
	}
}

// So is the help of one command, which runs nothing.
func TestEachCommandHasHelp(t *testing.T) {
	t.Parallel()
	for _, c := range commands() {
		for _, word := range []string{"-h", "--help"} {
			var out, errOut strings.Builder
			if code := run([]string{c.name, word}, env(nil), &out, &errOut); code != 0 || errOut.Len() > 0 || !strings.HasPrefix(out.String(), "usage: gatehouse "+c.name) || !strings.Contains(out.String(), c.what) {
				t.Errorf("%s %s: %d %s%s", c.name, word, code, out.String(), errOut.String())
			}
		}
	}
}

// The version is told whatever the settings are.
func TestVersionNeedsNoSettings(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"version", "--version"} {
		var out, errOut strings.Builder
		if code := run([]string{word}, env(map[string]string{"GATEHOUSE_ROLE": "boss"}), &out, &errOut); code != 0 || errOut.Len() > 0 || !strings.HasPrefix(out.String(), "gatehouse ") {
			t.Errorf("%s: %d %s%s", word, code, out.String(), errOut.String())
		}
	}
}

// An address that stands for all of a machine's is none to go to.
func TestTheSiteIsWhereItCanBeReached(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		":8080": "http://127.0.0.1:8080", "0.0.0.0:8080": "http://127.0.0.1:8080", "[::]:8080": "http://[::1]:8080",
		"[::ffff:0.0.0.0]:8080": "http://127.0.0.1:8080", "localhost:8080": "http://localhost:8080", "[::1]:80": "http://[::1]:80",
	} {
		c, err := readConfig(env(map[string]string{"GATEHOUSE_ADDR": addr}))
		if err != nil || c.baseURL.String() != want {
			t.Errorf("%s: %s, want %s, %v", addr, c.baseURL, want, err)
		}
	}
}
