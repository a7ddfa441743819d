package faults

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/e2e/blackbox"
)

// privateDir is a data directory that the database's user can reach, on a
// volume of its own of that many MiB unless it is 0.
func privateDir(t *testing.T, mib int) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "gatehouse-fault-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	if mib > 0 {
		if err := mountSmall(dir, mib); err != nil {
			_ = os.Remove(dir)
			t.Skipf("no small volume can be mounted here, which needs root and the right to mount: %v", err)
		}
	}
	t.Cleanup(func() {
		if mib > 0 {
			if err := unmount(dir); err != nil {
				t.Errorf("unmount the small volume: %v", err)
			}
		}
		_ = os.RemoveAll(dir)
	})
	return dir
}

// private runs a server with a PostgreSQL of its own in dir.
func private(t *testing.T, dir string) (*blackbox.Server, *blackbox.Owner) {
	t.Helper()
	s, err := blackbox.Prepare(binary(), "", dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Signal(syscall.SIGTERM) // stops its PostgreSQL too
		if t.Failed() {
			t.Logf("server %s said:\n%s", s.URL, s.Log(6000))
		}
	})
	again(t, s)
	readyWithDatabase(t, s)
	o, err := blackbox.SetUp(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return s, o
}

// readyWithDatabase waits for a server that first makes its PostgreSQL: how long that takes is up to the disk.
func readyWithDatabase(t *testing.T, s *blackbox.Server) {
	t.Helper()
	if err := blackbox.Eventually(t.Context(), 3*time.Minute, func() error { return s.Answers(t.Context()) }); err != nil {
		t.Fatal(err)
	}
}

// The volume of the database fills up while notes are saved: a save fails as a
// whole, with a page that keeps what was typed, and after room was made all
// goes on without a restart (field case F60).
func TestDiskFull(t *testing.T) {
	t.Parallel()
	dir := privateDir(t, 150)
	s, o := private(t, dir)
	ballast := filepath.Join(dir, "ballast")
	fill(t, ballast, dir, 12<<20)

	saved, refused := map[string]bool{}, ""
	for n := 0; n < 400 && refused == ""; n++ {
		title, body := fmt.Sprintf("Filling %d", n), noise(t, 150<<10)
		form := url.Values{"title": {title}, "body": {body}, "genre": {"raw"}}
		status, page, err := o.Post(t.Context(), s, "/admin/notes/new?genre=raw", form)
		switch {
		case err != nil:
			t.Fatalf("a save was not answered: %v", err)
		case status == http.StatusSeeOther:
			saved[title] = true
		default:
			refused = title
			t.Logf("after %d notes: %d", len(saved), status)
			if status != http.StatusServiceUnavailable || !strings.Contains(page, body[:200]) {
				t.Errorf("a save without room answers %d; the text is kept: %v", status, strings.Contains(page, body[:200]))
			}
		}
	}
	if refused == "" || len(saved) == 0 {
		t.Fatalf("%d notes were saved and none refused", len(saved))
	}
	time.Sleep(2 * time.Second) // without room for a while
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	// PostgreSQL itself may have given up: whoever uses it starts it again.
	err := blackbox.Eventually(t.Context(), 90*time.Second, func() error {
		return o.Call(t.Context(), s, "corpus.create", map[string]any{"genre": "wiki", "title": "Room again", "body": "roomagain", "published": true}, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	err = blackbox.Eventually(t.Context(), 90*time.Second, func() error {
		if !found(t, s, "roomagain", "Room again") {
			return errors.New("the first note after the outage is not found")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	wholeOrNothing(t, dir, saved, refused)
}

// wholeOrNothing: every acknowledged note is there with its event, the refused
// one left nothing, and nothing waits.
func wholeOrNothing(t *testing.T, dir string, saved map[string]bool, refused string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), privateURL(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	rows, err := conn.Query(t.Context(), `select title from notes n where title like 'Filling %' and exists (select from events e where e.data ->> 'note_id' = n.id::text)`)
	if err != nil {
		t.Fatal(err)
	}
	have, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, title := range have {
		if title == refused {
			t.Errorf("%s was refused and is there", title)
		}
		delete(saved, title)
	}
	for title := range saved {
		t.Errorf("%s was acknowledged and is not there", title)
	}
	err = blackbox.Eventually(t.Context(), 60*time.Second, func() error {
		var open int
		err := conn.QueryRow(t.Context(), `select (select count(*) from events where fanned_out_at is null)
			+ (select count(*) from river.river_job where kind <> 'periodic' and finalized_at is null)`).Scan(&open)
		if err == nil && open > 0 {
			err = fmt.Errorf("%d events and tasks are open", open)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// privateURL signs in to a private cluster with its own password file.
func privateURL(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "postgres", "cluster", "pgpass"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) == 5 && f[3] == "gatehouse" {
			return "postgres://gatehouse:" + f[4] + "@/gatehouse?port=5432&host=" + url.QueryEscape(filepath.Join(dir, "postgres", "run"))
		}
	}
	t.Fatal("no password of the private database")
	return ""
}

// fill writes a file until only left bytes of the volume are free.
func fill(t *testing.T, path, dir string, left int64) {
	t.Helper()
	var volume syscall.Statfs_t
	if err := syscall.Statfs(dir, &volume); err != nil {
		t.Fatal(err)
	}
	size := int64(volume.Bavail)*volume.Bsize - left
	if size < 0 {
		t.Fatalf("the volume has %d bytes less than are to be left", -size)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	block := make([]byte, 1<<20)
	for size > 0 {
		n, err := f.Write(block[:min(size, int64(len(block)))])
		if err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		if size -= int64(n); n == 0 {
			break
		}
	}
	if err := f.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		t.Fatal(err)
	}
}

// noise is text that no compression makes small.
func noise(t *testing.T, size int) string {
	t.Helper()
	raw := make([]byte, size*3/4)
	if _, err := rand.Read(raw); err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}
