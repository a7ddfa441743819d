package owner_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-hq/gatehouse/internal/domain/owner"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const (
	address  = "ada@example.com"
	password = "a sentence is easy"
)

func fresh(t *testing.T) (*owner.Domain, *pg.DB) {
	t.Helper()
	db := pgtest.New(t)
	return owner.New(db, events.NewRecorder(owner.Types(), events.NewBell())), db
}

func setUp(t *testing.T, d *owner.Domain) (session string) {
	t.Helper()
	token, err := d.SetupLink(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	session, err = d.SetUp(t.Context(), token, address, password, owner.Visit{Address: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// recorded lists type and data of every event, oldest first.
func recorded(t *testing.T, db *pg.DB) []string {
	t.Helper()
	rows, err := db.Query(t.Context(), `select type || ' ' || data::text from events order by seq`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	out := []string{}
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

func TestLinkWorksOnceAndLookingAtItChangesNothing(t *testing.T) {
	t.Parallel()
	d, _ := fresh(t)
	token, err := d.SetupLink(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // mail scanners press links
		if err := d.CheckLink(t.Context(), token); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.SetUp(t.Context(), token, address, password, owner.Visit{}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.SetUp(t.Context(), token, "eve@example.com", password, owner.Visit{}); op.CodeOf(err) != op.NotFound {
		t.Errorf("the second use: %v", err)
	}
	if _, err := d.SetupLink(t.Context(), false); !errors.Is(err, owner.ErrAlreadySetUp) {
		t.Errorf("a link without reset once set up: %v", err)
	}
}

func TestOfTwoWhoUseOneLinkAtOnceOneWins(t *testing.T) {
	t.Parallel()
	d, _ := fresh(t)
	token, err := d.SetupLink(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	var wins sync.Map
	var both sync.WaitGroup
	for i := range 2 {
		both.Go(func() {
			if _, err := d.SetUp(t.Context(), token, address, password, owner.Visit{}); err == nil {
				wins.Store(i, true)
			}
		})
	}
	both.Wait()
	n := 0
	wins.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d set themselves up with one link", n)
	}
}

func TestBadInputIsNamedAndChangesNothing(t *testing.T) {
	t.Parallel()
	d, db := fresh(t)
	token, err := d.SetupLink(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ email, password, want string }{
		"no address":     {"ada", password, "email"},
		"two addresses":  {"a@x.example, b@x.example", password, "email"},
		"name and all":   {"Ada <ada@example.com>", password, "email"},
		"short password": {address, "short", "password"},
		"long password":  {address, strings.Repeat("x", 201), "password"},
	} {
		_, err := d.SetUp(t.Context(), token, c.email, c.password, owner.Visit{})
		var field interface{ Field() string }
		if !errors.As(err, &field) || field.Field() != c.want || op.CodeOf(err) != op.Invalid {
			t.Errorf("%s: %v, want an error at %s", name, err, c.want)
		}
	}
	if err := d.CheckLink(t.Context(), token); err != nil {
		t.Errorf("a mistake used the link up: %v", err)
	}
	if got := recorded(t, db); len(got) != 0 {
		t.Errorf("events of mistakes: %v", got)
	}
}

func TestSignInRecordsOneThinEvent(t *testing.T) {
	t.Parallel()
	d, db := fresh(t)
	setUp(t, d)
	session, err := d.SignIn(t.Context(), address, password, owner.Visit{Address: "127.0.0.1", UserAgent: "a\x00b\xff" + strings.Repeat("x", 500)})
	if err != nil {
		t.Fatal(err)
	}
	o, err := d.Session(t.Context(), session)
	if err != nil || o.Email != address {
		t.Fatalf("%+v, %v", o, err)
	}
	want := []string{owner.Login + ` {"method": "setup_link"}`, owner.Login + ` {"method": "password"}`}
	if diff := cmp.Diff(want, recorded(t, db)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	golden, err := os.ReadFile("testdata/events/owner.login.json")
	if err != nil {
		t.Fatal(err)
	}
	var last, kept any
	var data []byte
	if err := db.QueryRow(t.Context(), `select data from events order by seq desc limit 1`).Scan(&data); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(json.Unmarshal(data, &last), json.Unmarshal(golden, &kept)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kept, last); diff != "" {
		t.Errorf("data (-golden +recorded):\n%s", diff)
	}
}

func TestWrongTriesLookAlikeAndAreLimited(t *testing.T) {
	t.Parallel()
	d, db := fresh(t)
	setUp(t, d)
	_, unknown := d.SignIn(t.Context(), "eve@example.com", password, owner.Visit{Address: "192.0.2.1"})
	_, wrong := d.SignIn(t.Context(), address, "not the password", owner.Visit{Address: "192.0.2.1"})
	if unknown == nil || wrong == nil || unknown.Error() != wrong.Error() {
		t.Errorf("an unknown address says %v, a wrong password %v", unknown, wrong)
	}
	for range 8 {
		_, err := d.SignIn(t.Context(), address, "not the password", owner.Visit{Address: "192.0.2.1"})
		if op.CodeOf(err) != op.Invalid {
			t.Fatal(err)
		}
	}
	if _, err := d.SignIn(t.Context(), address, password, owner.Visit{Address: "192.0.2.1"}); op.CodeOf(err) != op.TooMany {
		t.Errorf("the eleventh try: %v", err)
	}
	if _, err := d.SignIn(t.Context(), address, password, owner.Visit{Address: "192.0.2.2"}); err != nil {
		t.Errorf("the owner elsewhere is locked out: %v", err)
	}
	if got := recorded(t, db); len(got) != 2 {
		t.Errorf("wrong tries left events: %v", got)
	}
}

func TestResetEndsEverySession(t *testing.T) {
	t.Parallel()
	d, _ := fresh(t)
	old := setUp(t, d)
	token, err := d.SetupLink(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := d.SetUp(t.Context(), token, address, "another sentence", owner.Visit{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Session(t.Context(), old); op.CodeOf(err) != op.Unauthorized {
		t.Errorf("the old session: %v", err)
	}
	if _, err := d.Session(t.Context(), fresh); err != nil {
		t.Errorf("the new session: %v", err)
	}
	if _, err := d.SignIn(t.Context(), address, password, owner.Visit{Address: "127.0.0.1"}); err == nil {
		t.Error("the old password still opens")
	}
}

func TestSessionsListAndEnd(t *testing.T) {
	t.Parallel()
	d, _ := fresh(t)
	first := setUp(t, d)
	second, err := d.SignIn(t.Context(), address, password, owner.Visit{Address: "127.0.0.2"})
	if err != nil {
		t.Fatal(err)
	}
	list, err := d.Sessions(t.Context(), second)
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, s := range list {
		if !s.Current {
			if err := d.EndSession(t.Context(), s.ID); err != nil {
				t.Fatal(err)
			}
			if err := d.EndSession(t.Context(), s.ID); op.CodeOf(err) != op.NotFound {
				t.Errorf("ending it twice: %v", err)
			}
		}
	}
	if _, err := d.Session(t.Context(), first); op.CodeOf(err) != op.Unauthorized {
		t.Errorf("the ended session: %v", err)
	}
	if err := d.SignOut(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Session(t.Context(), second); op.CodeOf(err) != op.Unauthorized {
		t.Errorf("after signing out: %v", err)
	}
}

func TestChangingThePasswordKeepsThisBrowserOnly(t *testing.T) {
	t.Parallel()
	d, _ := fresh(t)
	other := setUp(t, d)
	mine, err := d.SignIn(t.Context(), address, password, owner.Visit{Address: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.ChangePassword(t.Context(), mine, "wrong one here", "a longer sentence"); op.CodeOf(err) != op.Invalid {
		t.Errorf("with a wrong old one: %v", err)
	}
	if err := d.ChangePassword(t.Context(), mine, password, "a longer sentence"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Session(t.Context(), mine); err != nil {
		t.Error(err)
	}
	if _, err := d.Session(t.Context(), other); err == nil {
		t.Error("the other browser stayed signed in")
	}
}

// Nothing that opens a door may be read from the database.
func TestNoSecretIsStoredInClear(t *testing.T) {
	t.Parallel()
	d, db := fresh(t)
	token, err := d.SetupLink(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	var links string
	if err := db.QueryRow(t.Context(), `select string_agg(t::text, '') from setup_tokens t`).Scan(&links); err != nil {
		t.Fatal(err)
	}
	session, err := d.SetUp(t.Context(), token, address, password, owner.Visit{})
	if err != nil {
		t.Fatal(err)
	}
	var rest string
	if err := db.QueryRow(t.Context(), `select (select string_agg(s::text, '') from sessions s) || (select string_agg(o::text, '') from owners o) || (select string_agg(e::text, '') from events e)`).Scan(&rest); err != nil {
		t.Fatal(err)
	}
	for name, secret := range map[string]string{"set-up token": token, "session token": session, "password": password} {
		if strings.Contains(links+rest, secret) {
			t.Errorf("the %s can be read in the database", name)
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	d, _ := fresh(t)
	setUp(t, d)
	err := d.SaveSettings(t.Context(), owner.Settings{Name: "Ada\x00", Zone: "Mars/Olympus", Title: "", Tagline: strings.Repeat("x", 301)})
	if err == nil || op.CodeOf(err) != op.Invalid {
		t.Fatal(err)
	}
	for _, field := range []string{"name", "zone", "title", "tagline"} {
		if !strings.Contains(err.Error(), field+":") {
			t.Errorf("no word about %s in %v", field, err)
		}
	}
	if err := d.SaveSettings(t.Context(), owner.Settings{Name: "Ada", Zone: "Europe/Berlin", Title: "Ada's garden", SingleKeys: true}); err != nil {
		t.Fatal(err)
	}
	o, err := d.Owner(t.Context())
	if err != nil || o.Title != "Ada's garden" || o.Location().String() != "Europe/Berlin" {
		t.Errorf("%+v, %v", o, err)
	}
}
