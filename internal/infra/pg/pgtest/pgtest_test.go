package pgtest_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

// envVictim makes the test binary a process that starts a cluster, says where it lies and waits to be killed.
const envVictim = "PGTEST_TEST_VICTIM"

func TestMain(m *testing.M) {
	if os.Getenv(envVictim) != "" {
		victim()
		return
	}
	pgtest.Main(m, pgtest.NoLeaks)
}

func victim() {
	c, err := pgtest.StartCluster(context.Background(), nil)
	if err != nil {
		panic(err)
	}
	db, err := pg.Open(context.Background(), c.AdminURL(), pg.Options{})
	if err != nil {
		panic(err)
	}
	var dir string
	if err := db.QueryRow(context.Background(), "SHOW data_directory").Scan(&dir); err != nil {
		panic(err)
	}
	_, _ = os.Stdout.WriteString(dir + "\n")
	select {}
}

func TestNewIsMigratedAndOnesOwn(t *testing.T) {
	t.Parallel()
	want, err := pg.NewestVersion(pg.Migrations)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		db := pgtest.New(t)
		got, err := pg.SchemaVersion(t.Context(), db)
		if err != nil || got != want {
			t.Errorf("schema version %d (%v), want %d", got, err, want)
		}
		var queue bool
		if err := db.QueryRow(t.Context(), "SELECT to_regclass('river.river_job') IS NOT NULL").Scan(&queue); err != nil || !queue {
			t.Errorf("the queue's schema is there: %v, %v", queue, err)
		}
		// Fails where another test's database is the same.
		if _, err := db.Exec(t.Context(), "CREATE TABLE mine ()"); err != nil {
			t.Error(err)
		}
	}
}

// What works in a test as a superuser would fail in production.
func TestTheRoleIsThatOfProduction(t *testing.T) {
	t.Parallel()
	var super bool
	db := pgtest.New(t)
	if err := db.QueryRow(t.Context(), "SELECT rolsuper FROM pg_roles WHERE rolname = current_user").Scan(&super); err != nil || super {
		t.Errorf("superuser %v, %v", super, err)
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	seen := sync.Map{}
	for range 8 {
		wg.Go(func() {
			url := pgtest.URL(t)
			if _, twice := seen.LoadOrStore(url, true); twice {
				t.Error("two tests got one database")
			}
		})
	}
	wg.Wait()
}

func TestEmptyHasNoSchema(t *testing.T) {
	t.Parallel()
	db, err := pg.Open(t.Context(), pgtest.Empty(t), pg.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if v, err := pg.SchemaVersion(t.Context(), db); err != nil || v != 0 {
		t.Errorf("schema version %d, %v", v, err)
	}
}

func TestDatabaseGoesWithItsTest(t *testing.T) {
	t.Parallel()
	var name string
	t.Run("inner", func(t *testing.T) {
		db := pgtest.New(t)
		if err := db.QueryRow(t.Context(), "SELECT current_database()").Scan(&name); err != nil {
			t.Fatal(err)
		}
	})
	var exists bool
	err := pgtest.New(t).QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&exists)
	if err != nil || exists || name == "" {
		t.Errorf("the database %q of a finished test exists: %v (%v)", name, exists, err)
	}
}

// recorder is a test that only notes its failures.
type recorder struct {
	testing.TB
	cleanups []func()
	failed   []string
}

func (r *recorder) Cleanup(f func())          { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(f string, _ ...any) { r.failed = append(r.failed, f) }
func (r *recorder) end() {
	for len(r.cleanups) > 0 {
		last := len(r.cleanups) - 1
		r.cleanups[last]()
		r.cleanups = r.cleanups[:last]
	}
}

func TestKeptConnectionFailsTheTest(t *testing.T) {
	t.Parallel()
	inner := &recorder{TB: t}
	db := pgtest.New(inner)
	kept, err := db.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	inner.end()
	if len(inner.failed) != 1 || !strings.Contains(inner.failed[0], "not given back") {
		t.Errorf("a test that kept a connection said %q", inner.failed)
	}
	kept.Release()
}

func TestClusterDiesWithItsProcess(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envVictim+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	n, err := out.Read(buf)
	if err != nil && err != io.EOF {
		t.Fatal(err)
	}
	dir := strings.TrimSpace(string(buf[:n]))
	if _, err := os.Stat(dir); err != nil || dir == "" {
		t.Fatalf("the cluster said to be in %q: %v", dir, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(strings.TrimSuffix(dir, "/postgres/cluster/data")); os.IsNotExist(err) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the cluster of a killed process is still there after 20 s")
		}
	}
}

func BenchmarkURL(b *testing.B) {
	for b.Loop() {
		pgtest.URL(b)
	}
}
