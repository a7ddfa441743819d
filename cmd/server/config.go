package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/egress"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs/river"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/embedded"
)

// config is everything the environment decides. It is read once, whole, so
// that every wrong value is named at the start and not in the middle of work.
type config struct {
	databaseURL    string // empty: the private cluster
	databaseWait   time.Duration
	addr           string
	dataDir        string
	baseURL        *url.URL
	role           string
	metricsAddr    string
	trustedProxies []netip.Prefix
	egressAllow    egress.AllowList
	sealKey        string
	retention      time.Duration
	meiliURL       string
	meiliKey       string
	demo           bool
	setupToken     string
	webhookWorkers int
	poolSize       int32
}

// wrongValue is a variable whose value cannot be used.
type wrongValue struct{ name, value, allowed string }

func (e wrongValue) Error() string {
	return fmt.Sprintf("%s is %q; allowed is %s", e.name, e.value, e.allowed)
}

func readConfig(env func(string) string) (config, error) {
	var wrong []error
	miss := func(name, allowed string) {
		wrong = append(wrong, wrongValue{name, env(name), allowed})
	}
	c := config{
		databaseURL: env("DATABASE_URL"),
		addr:        orDefault(env("GATEHOUSE_ADDR"), "127.0.0.1:8080"),
		dataDir:     env("GATEHOUSE_DATA_DIR"),
		role:        orDefault(env("GATEHOUSE_ROLE"), "all"),
		metricsAddr: env("GATEHOUSE_METRICS_ADDR"),
		sealKey:     env("GATEHOUSE_SEAL_KEY"),
		meiliURL:    env("GATEHOUSE_MEILI_URL"),
		meiliKey:    env("GATEHOUSE_MEILI_KEY"),
		setupToken:  env("GATEHOUSE_SETUP_TOKEN"),
		retention:   14 * 24 * time.Hour,
	}
	if c.databaseURL != "" && !strings.HasPrefix(c.databaseURL, "postgres://") && !strings.HasPrefix(c.databaseURL, "postgresql://") {
		// The value may hold a password, so it is not repeated.
		wrong = append(wrong, errors.New("DATABASE_URL is not a PostgreSQL address; allowed is postgres://user:password@host:5432/name"))
	}
	if host, port, err := net.SplitHostPort(c.addr); err != nil || !portNumber(port) {
		miss("GATEHOUSE_ADDR", "host:port, such as 127.0.0.1:8080")
	} else {
		c.baseURL = &url.URL{Scheme: "http", Host: net.JoinHostPort(reachable(host), port)}
	}
	if v := env("GATEHOUSE_BASE_URL"); v != "" {
		u, err := url.Parse(v)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
			miss("GATEHOUSE_BASE_URL", "the address people use, such as https://notes.example.com (no path)")
		} else {
			c.baseURL = &url.URL{Scheme: u.Scheme, Host: u.Host}
		}
	}
	if c.role != "all" && c.role != "web" && c.role != "worker" {
		miss("GATEHOUSE_ROLE", "all, web or worker")
	}
	if c.metricsAddr != "" {
		if _, port, err := net.SplitHostPort(c.metricsAddr); err != nil || !portNumber(port) {
			miss("GATEHOUSE_METRICS_ADDR", "host:port, such as 127.0.0.1:9090")
		}
	}
	for _, p := range strings.FieldsFunc(env("GATEHOUSE_TRUSTED_PROXIES"), listed) {
		prefix, err := netip.ParsePrefix(p)
		if err != nil {
			addr, aerr := netip.ParseAddr(p)
			if aerr != nil {
				miss("GATEHOUSE_TRUSTED_PROXIES", "addresses or networks, such as 127.0.0.1,10.0.0.0/8")
				break
			}
			prefix = netip.PrefixFrom(addr, addr.BitLen())
		}
		c.trustedProxies = append(c.trustedProxies, prefix)
	}
	var err error
	if c.egressAllow, err = egress.ParseAllow(env("GATEHOUSE_EGRESS_ALLOW")); err != nil {
		wrong = append(wrong, fmt.Errorf("GATEHOUSE_EGRESS_ALLOW: %w", err))
	}
	if v := env("GATEHOUSE_EVENT_RETENTION"); v != "" {
		if c.retention, err = readRetention(v); err != nil {
			miss("GATEHOUSE_EVENT_RETENTION", "a time of at least 1m, such as 336h or 14d")
		}
	}
	if c.meiliURL != "" {
		if u, err := url.Parse(c.meiliURL); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			miss("GATEHOUSE_MEILI_URL", "the address of a Meilisearch server, such as http://127.0.0.1:7700")
		}
	}
	switch v := env("GATEHOUSE_DEMO"); v {
	case "1":
		c.demo = true
	case "", "0":
	default:
		miss("GATEHOUSE_DEMO", "1 or 0")
	}
	if c.setupToken != "" && len(c.setupToken) < 16 {
		wrong = append(wrong, errors.New("GATEHOUSE_SETUP_TOKEN is shorter than 16 characters; anyone could guess it"))
	}
	c.readCounts(env, miss)
	if c.dataDir == "" {
		if c.dataDir, err = embedded.DefaultDataDir(); err != nil {
			wrong = append(wrong, fmt.Errorf("GATEHOUSE_DATA_DIR is not set, and %w", err))
		}
	} else if c.dataDir, err = filepath.Abs(c.dataDir); err != nil {
		miss("GATEHOUSE_DATA_DIR", "a directory")
	}
	return c, errors.Join(wrong...)
}

// readCounts reads what bounds the work of this process.
func (c *config) readCounts(env func(string) string, miss func(name, allowed string)) {
	var err error
	if c.webhookWorkers, err = readCount(env("GATEHOUSE_WEBHOOK_WORKERS"), 200, 5, 2000); err != nil {
		miss("GATEHOUSE_WEBHOOK_WORKERS", "a number from 5 to 2000")
	}
	least := river.LeastPool(jobs.Queues(c.webhookWorkers)) // what the queue would refuse later, in words of its own
	n, err := readCount(env("GATEHOUSE_POOL_SIZE"), 40, least, 500)
	if c.poolSize = int32(n); err != nil {
		miss("GATEHOUSE_POOL_SIZE", fmt.Sprintf("a number from %d to 500", least))
	}
	c.databaseWait = 5 * time.Minute
	if v := env("GATEHOUSE_DATABASE_WAIT"); v != "" {
		if c.databaseWait, err = time.ParseDuration(v); err != nil || c.databaseWait < 0 || c.databaseWait > 24*time.Hour {
			miss("GATEHOUSE_DATABASE_WAIT", "a time from 0s to 24h, such as 90s or 10m")
		}
	}
}

func orDefault(v, otherwise string) string {
	if v == "" {
		return otherwise
	}
	return v
}

// reachable is the host at which this machine reaches what listens at host: an address that stands for all of them is none
// to go to.
func reachable(host string) string {
	switch ip, _ := netip.ParseAddr(host); ip.Unmap() {
	case netip.IPv4Unspecified():
		return "127.0.0.1"
	case netip.IPv6Unspecified():
		return "::1"
	}
	return orDefault(host, "127.0.0.1")
}

func listed(r rune) bool { return r == ',' || r == ' ' }

func portNumber(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n >= 0 && n <= 65535
}

func readRetention(v string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(v, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 1 || n > 3650 {
			return 0, os.ErrInvalid
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < time.Minute {
		return 0, os.ErrInvalid
	}
	return d, nil
}

func readCount(v string, otherwise, least, most int) (int, error) {
	if v == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > most {
		return otherwise, os.ErrInvalid
	}
	return n, nil
}
