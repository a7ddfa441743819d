package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/e2e/blackbox"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

// words is what a program says, for a test to wait for.
type words struct {
	mu  sync.Mutex
	all strings.Builder
}

func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.Write(p)
}

func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.String()
}

// waiting is a server that was started while its database was away.
type waiting struct {
	url      string // of the site
	link     *blackbox.Link
	log, out words
	stop     context.CancelFunc
	ended    chan error // what serve returned
}

func startedWithoutDatabase(t *testing.T, wait string, address func(url string) string) *waiting {
	t.Helper()
	link, err := blackbox.NewLink(pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(link.Close)
	link.Refuse(true)
	all := map[string]string{
		"DATABASE_URL": address(link.URL()), "GATEHOUSE_DATABASE_WAIT": wait, "GATEHOUSE_DATA_DIR": t.TempDir(), "GATEHOUSE_ADDR": "127.0.0.1:0",
	}
	cfg, err := readConfig(func(name string) string { return all[name] })
	if err != nil {
		t.Fatal(err)
	}
	// The system's choice of a port is in the greeting only, which comes later; the doors are the server's own.
	doors, err := listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w := &waiting{link: link, url: "http://" + doors.site.Addr().String(), ended: make(chan error, 1)}
	ctx, stop := context.WithCancel(t.Context())
	w.stop = stop
	go func() {
		w.ended <- serveThrough(ctx, &program{cfg: cfg, out: &w.out, errOut: &w.log}, doors)
	}()
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Logf("it said:\n%s%s", &w.out, &w.log)
		}
	})
	return w
}

// answers waits until path answers with that status, and returns the words.
func (w *waiting) answers(t *testing.T, path string, status int) (text string, header http.Header) {
	t.Helper()
	err := blackbox.Eventually(t.Context(), time.Minute, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+path, nil)
		if err != nil {
			return err
		}
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		defer func() { _ = a.Body.Close() }()
		raw, err := io.ReadAll(a.Body)
		text, header = string(raw), a.Header
		if err == nil && a.StatusCode != status {
			err = fmt.Errorf("%s answers %s", path, a.Status)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text, header
}

// A server that comes up before its database says so once, answers that it is not ready, and serves when the database
// is there: machines and containers come up in any order.
func TestADatabaseThatIsLateIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := startedWithoutDatabase(t, "", right)
	for _, path := range []string{"/healthz", "/readyz", "/healthz/tasks", "/", "/admin/"} {
		if text, header := w.answers(t, path, http.StatusServiceUnavailable); !strings.Contains(text, "not ready") || header.Get("Retry-After") == "" {
			t.Errorf("%s: %q, %v", path, text, header)
		}
	}
	// Several tries later it was still said once, and the site greets nobody.
	err := blackbox.Eventually(t.Context(), time.Minute, func() error {
		if n := w.link.Turned(); n < 4 {
			return fmt.Errorf("tried %d times", n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(w.log.String(), "cannot be reached"); n != 1 || !strings.Contains(w.log.String(), "no PostgreSQL answers at") || w.out.String() != "" {
		t.Errorf("said %d times, greeting %q", n, w.out.String())
	}
	w.link.Refuse(false)
	w.answers(t, "/healthz", http.StatusOK)
	w.answers(t, "/readyz", http.StatusOK)
	if !regexp.MustCompile(`the database answers"? after=`).MatchString(w.log.String()) || !strings.Contains(w.out.String(), "Gatehouse is at "+w.url) {
		t.Errorf("greeting %q", w.out.String())
	}
	w.stop()
	if err := <-w.ended; err != nil {
		t.Error(err)
	}
	address, err := url.Parse(w.link.URL())
	if err != nil {
		t.Fatal(err)
	}
	if secret, ok := address.User.Password(); ok && strings.Contains(w.log.String()+w.out.String(), secret) {
		t.Error("it said the password of its database")
	}
}

// A stop while it waits is an orderly end, at once.
func TestWaitingForTheDatabaseEndsAtTheSignal(t *testing.T) {
	t.Parallel()
	w := startedWithoutDatabase(t, "24h", right)
	w.answers(t, "/healthz", http.StatusServiceUnavailable)
	w.stop()
	if err := <-w.ended; err != nil {
		t.Error(err)
	}
	if _, err := http.Get(w.url + "/healthz"); err == nil {
		t.Error("the port still answers")
	}
}

// What comes to light while it waits and cannot be mended by waiting ends it, and so does the end of the time.
func TestWaitingForTheDatabaseHasAnEnd(t *testing.T) {
	t.Parallel()
	w := startedWithoutDatabase(t, "700ms", right)
	err := <-w.ended
	if err == nil || !strings.Contains(err.Error(), "no PostgreSQL answers at") || !strings.Contains(err.Error(), "tried for 700ms") {
		t.Errorf("after its time: %v", err)
	}
	wrong := startedWithoutDatabase(t, "24h", func(url string) string { return nameOf.ReplaceAllString(url, "/nothing_here$1") })
	wrong.answers(t, "/healthz", http.StatusServiceUnavailable)
	wrong.link.Refuse(false)
	if err := <-wrong.ended; err == nil || !strings.Contains(err.Error(), `no database "nothing_here"`) {
		t.Errorf("a name that does not exist: %v", err)
	}
}

func right(url string) string { return url }

// nameOf is the database's name in an address.
var nameOf = regexp.MustCompile(`/[^/?]*(\?.*)?$`)
