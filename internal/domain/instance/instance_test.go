package instance_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/instance"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m, pgtest.NoLeaks) }

// house is one database, and what a hold would have done around it.
type house struct {
	*testing.T
	db      *pg.DB
	signOut int
	reindex int
}

func newHouse(t *testing.T) *house { return &house{T: t, db: pgtest.New(t)} }

func (h *house) on(dir string) *instance.Domain {
	return instance.New(instance.Deps{DB: h.db, DataDir: dir,
		SignOut: func(context.Context, pg.Tx) (int, error) { h.signOut++; return 3, nil },
		Reindex: func(context.Context) error { h.reindex++; return nil },
	})
}

// starts is a start of the site with this data directory; it returns why a hold was set.
func (h *house) starts(dir string) string {
	h.Helper()
	r, err := h.on(dir).Recognise(h.Context(), "")
	if err != nil {
		h.Fatal(err)
	}
	return r.Reason
}

func (h *house) exec(sql string) {
	h.Helper()
	if _, err := h.db.Exec(h.Context(), sql); err != nil {
		h.Fatal(err)
	}
}

func (h *house) held() bool {
	h.Helper()
	var yes bool
	if err := h.db.QueryRow(h.Context(), `select exists (select from holds where released_at is null)`).Scan(&yes); err != nil {
		h.Fatal(err)
	}
	return yes
}

func (h *house) release() {
	h.Helper()
	d := h.on(h.TempDir())
	now, err := d.Current(h.Context())
	if err != nil || now == nil {
		h.Fatalf("no hold to release: %v", err)
	}
	if _, err := d.Release(h.Context(), instance.ReleaseIn{ID: now.ID, Choice: instance.Send}); err != nil {
		h.Fatal(err)
	}
}

func TestOrdinaryStartsSetNoHold(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	one, two := t.TempDir(), t.TempDir()
	// A first start, restarts, a second process with a data directory of its own, both in turn, and one without a volume.
	for i, dir := range []string{one, one, two, one, two, two, t.TempDir(), one, filepath.Join(t.TempDir(), "new")} {
		if reason := h.starts(dir); reason != "" || h.held() {
			t.Fatalf("start %d: %s", i, reason)
		}
	}
	if h.signOut+h.reindex != 0 {
		t.Errorf("signed out %d times, reindexed %d times", h.signOut, h.reindex)
	}
}

func TestEachDifferenceSetsAHold(t *testing.T) {
	t.Parallel()
	for column, says := range map[string]string{
		"system_id": "another PostgreSQL server", "timeline": "point in time", "database_oid": "another database", "events_oid": "made anew",
	} {
		t.Run(column, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			dir := t.TempDir()
			h.starts(dir)
			h.exec(`update instance set ` + column + ` = ` + column + ` + 1`)
			if reason := h.starts(dir); !strings.Contains(reason, says) || !h.held() || h.signOut != 1 || h.reindex != 1 {
				t.Errorf("reason %q, held %t, signed out %d times, reindexed %d times", reason, h.held(), h.signOut, h.reindex)
			}
			// It is told once: the next start finds what it knows.
			h.release()
			if reason := h.starts(dir); reason != "" || h.held() {
				t.Errorf("again: %q", reason)
			}
		})
	}
}

// The volume of the database is set back to a snapshot; the data directory is not.
func TestAnOlderDatabaseIsRecognisedByItsNonce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	one, two := t.TempDir(), t.TempDir()
	h.starts(one)
	h.starts(two)
	h.exec(`create table snapshot as table instance_homes`)
	h.starts(one)
	h.starts(two)
	h.exec(`delete from instance_homes; insert into instance_homes table snapshot`)
	if reason := h.starts(one); !strings.Contains(reason, "older") || !h.held() {
		t.Errorf("reason %q", reason)
	}
	// The other data directory has the same to tell, after the owner has decided: that is dealt with.
	h.release()
	if reason := h.starts(two); reason != "" || h.held() {
		t.Errorf("the second process: %q", reason)
	}
}

// Set back to a time when the data directory was not known yet.
func TestAHomeThatTheDatabaseDoesNotKnow(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	dir := t.TempDir()
	h.starts(dir)
	h.exec(`delete from instance_homes`)
	if reason := h.starts(dir); !strings.Contains(reason, "older") {
		t.Errorf("reason %q", reason)
	}
}

// Killed between file and database, before or after the commit, at the first start or a later one.
func TestAStartThatWasKilledIsNoReason(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	dir := t.TempDir()
	for round := range 3 {
		h.exec(`drop table if exists before; create table before as table instance_homes`)
		old := mirrors(t, dir)
		h.starts(dir)
		for path, after := range mirrors(t, dir) {
			var at, home, nonce string
			if err := h.db.QueryRow(t.Context(), `select started_at::text, id::text, nonce::text from instance_homes`).Scan(&at, &home, &nonce); err != nil {
				t.Fatal(err)
			}
			was := strings.TrimSuffix(strings.TrimSpace(old[path]), "}")
			if was == "" {
				was = `{"home":"` + home + `"`
			}
			// What lies there between the two writes: the nonce before, and the coming one.
			if err := os.WriteFile(path, []byte(was+`,"next":"`+nonce+`"}`), 0o600); err != nil {
				t.Fatal(err)
			}
			if round%2 == 0 { // before the commit
				h.exec(`delete from instance_homes; insert into instance_homes table before`)
			}
			if reason := h.starts(dir); reason != "" {
				t.Errorf("round %d: %s (was %s, after %s)", round, reason, was, after)
			}
		}
	}
}

func mirrors(t *testing.T, dir string) map[string]string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "instance-*.json"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, path := range found {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out[path] = string(raw)
	}
	return out
}

func TestADataDirectoryThatCannotBeWrittenIsNoReason(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r, err := h.on(filepath.Join(file, "below")).Recognise(t.Context(), "")
		if err != nil || r.Reason != "" || r.Unkept == nil {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

// Many processes that start at once, with one data directory or several.
func TestStartsAtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	shared := t.TempDir()
	done := make(chan string)
	for i := range 8 {
		dir := shared
		if i%2 == 0 {
			dir = t.TempDir()
		}
		go func() {
			r, err := h.on(dir).Recognise(t.Context(), "")
			if err != nil {
				r.Reason = err.Error()
			}
			done <- r.Reason
		}()
	}
	for range 8 {
		if reason := <-done; reason != "" {
			t.Error(reason)
		}
	}
	if reason := h.starts(shared); reason != "" {
		t.Error(reason)
	}
}

func TestTheHoldIsReleasedAsItWasSeen(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	d := h.on(t.TempDir())
	first, err := d.Hold(t.Context(), instance.HoldIn{})
	if err != nil || !h.held() || h.signOut != 0 {
		t.Fatalf("%+v, %v", first, err)
	}
	if again, err := d.Hold(t.Context(), instance.HoldIn{Reason: "Another."}); err != nil || again.ID != first.ID || again.Reason != first.Reason {
		t.Errorf("%+v, %v", again, err)
	}
	for want, in := range map[op.Code]instance.ReleaseIn{
		op.Invalid: {ID: first.ID, Choice: "keep"}, op.Conflict: {ID: "00000000-0000-7000-8000-000000000000", Choice: instance.Send},
	} {
		if _, err := d.Release(t.Context(), in); op.CodeOf(err) != want || !h.held() {
			t.Errorf("%+v: %v, want %s", in, err, want)
		}
	}
	if _, err := d.Release(t.Context(), instance.ReleaseIn{ID: first.ID, Choice: instance.Drop}); err != nil || h.held() {
		t.Error(err)
	}
	if _, err := d.Release(t.Context(), instance.ReleaseIn{ID: first.ID, Choice: instance.Drop}); op.CodeOf(err) != op.Conflict {
		t.Errorf("twice: %v", err)
	}
	past, err := d.Past(t.Context())
	if err != nil || len(past) != 1 || past[0].Choice != instance.Drop {
		t.Errorf("%+v, %v", past, err)
	}
}

func TestBackupsAreRemindedOf(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	d := h.on(t.TempDir())
	codes := func() (list string) {
		alerts, err := d.Alerts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range alerts {
			list += a.Code + " "
		}
		return list
	}
	steps := []struct{ do, want string }{
		{`select`, ""}, // never served
		{`insert into instance (database_oid, events_oid) values (1, 1)`, ""},
		{`update instance set created_at = clock_timestamp() - interval '8 days'`, "backup_overdue "},
		{`update instance set backup_at = clock_timestamp() - interval '13 days'`, ""},
		{`update instance set backup_at = clock_timestamp() - interval '15 days'`, "backup_overdue "},
		{`update instance set backup_elsewhere = true`, ""},
	}
	for _, s := range steps {
		h.exec(s.do)
		if got := codes(); got != s.want {
			t.Errorf("%s: alerts %q, want %q", s.do, got, s.want)
		}
	}
	if err := d.BackUpElsewhere(t.Context(), instance.RemindIn{}); err != nil {
		t.Fatal(err)
	}
	if err := instance.BackedUp(t.Context(), h.db); err != nil || codes() != "" {
		t.Error(err, codes())
	}
}

// A console that was left open in a transaction holds back the cleaning of every table: the owner learns which process it
// is (field case F05).
func TestAForgottenTransactionIsTold(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	told := func(after time.Duration) string {
		alerts, err := instance.New(instance.Deps{DB: h.db, Forgotten: after}).Alerts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range alerts {
			if a.Code == "transaction_forgotten" {
				return a.Evidence + " " + a.Next
			}
		}
		return ""
	}
	console, err := h.db.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = console.Rollback(context.Background()) }()
	if _, err := console.Exec(t.Context(), `set local application_name = 'console'`); err != nil {
		t.Fatal(err)
	}
	if _, err := console.Exec(t.Context(), `select count(*) from events`); err != nil {
		t.Fatal(err)
	}
	pid := strconv.Itoa(int(console.Conn().PgConn().PID()))
	if got := told(time.Nanosecond); !strings.Contains(got, `"console", process `+pid+" ") || !strings.Contains(got, "pg_terminate_backend("+pid+")") {
		t.Errorf("told %q of process %s", got, pid)
	}
	if got := told(0); got != "" {
		t.Errorf("told at once: %q", got)
	}
	if err := console.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := told(time.Nanosecond); got != "" {
		t.Errorf("told after its end: %q", got)
	}
}

func TestDisksAreLookedAt(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	dir := t.TempDir()
	d := instance.New(instance.Deps{DB: h.db, Disks: []instance.Disk{{Name: "data directory", Path: filepath.Join(dir, "not", "yet")}, {Name: "private database", Path: dir}}})
	got, err := d.Spaces()
	if err != nil || len(got) != 1 || got[0].Path != dir || got[0].Total == 0 {
		t.Errorf("%+v, %v", got, err)
	}
}
