package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/owner"
	"github.com/gatehouse-hq/gatehouse/internal/web/admin"
)

// Live updates pass nginx with its defaults and with everything compressed, as
// they come and not collected (field case F37). Runs where nginx is installed.
func TestLiveUpdatesPassNginx(t *testing.T) {
	t.Parallel()
	nginx, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("nginx is not installed: live updates through it were not tried")
	}
	s := serveAll(t)
	front := startNginx(t, nginx, strings.TrimPrefix(s.url, "http://"))
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Transport: &http.Transport{DisableCompression: true}}
	token, err := s.owner.SetupLink(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	session, err := s.owner.SetUp(t.Context(), token, "ada@example.com", "a sentence is easy", owner.Visit{Address: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(front)
	if err != nil {
		t.Fatal(err)
	}
	jar.SetCookies(at, []*http.Cookie{{Name: "gatehouse", Value: session, Path: "/"}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, front+admin.LivePath, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "gzip")
	answer, err := browser.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("%s, %q", answer.Status, answer.Header.Get("Content-Encoding"))
	}
	unzipped, err := gzip.NewReader(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	// The answer goes on for minutes. That a line of it is here is the proof.
	for lines := bufio.NewScanner(unzipped); ; {
		if !lines.Scan() {
			t.Fatalf("the stream ended: %v", lines.Err())
		}
		if strings.HasPrefix(lines.Text(), "data: ") {
			return
		}
	}
}

// startNginx runs nginx with as little of a configuration as it takes.
func startNginx(t *testing.T, nginx, upstream string) (front string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text := `daemon off; worker_processes 1; pid ` + dir + `/pid; error_log stderr;
events { worker_connections 64; }
http {
  access_log off; gzip on; gzip_types *;
  client_body_temp_path ` + dir + `/1; proxy_temp_path ` + dir + `/2; fastcgi_temp_path ` + dir + `/3; uwsgi_temp_path ` + dir + `/4; scgi_temp_path ` + dir + `/5;
  server { listen 127.0.0.1:` + strconv.Itoa(port) + `; location / { proxy_pass http://` + upstream + `; } }
}`
	path := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(nginx, "-e", "stderr", "-c", path)
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	front = "http://127.0.0.1:" + strconv.Itoa(port)
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if answer, err := http.Get(front + healthPath); err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
			return front
		}
	}
	t.Fatal("nginx does not answer")
	return ""
}
