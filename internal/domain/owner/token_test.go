package owner_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-hq/gatehouse/internal/domain/owner"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

func issued(t *testing.T, d *owner.Domain, days int, classes ...op.Class) owner.IssueTokenOut {
	t.Helper()
	out, err := d.IssueToken(t.Context(), owner.IssueTokenIn{Name: "laptop", Classes: classes, Days: days})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTokenOpensUntilItIsRevoked(t *testing.T) {
	t.Parallel()
	d, db := fresh(t)
	out := issued(t, d, 0, op.Write, op.Read)
	ctx, caller, err := d.Bearer(t.Context(), out.Secret)
	if err != nil || !caller.Allows(op.Read) || !caller.Allows(op.Write) || caller.Allows(op.Destructive) {
		t.Fatalf("%+v, %v", caller, err)
	}
	if got := pg.CauseFrom(ctx).Actor; got != "token:"+out.Token.ID {
		t.Errorf("what it writes is caused by %q", got)
	}
	if _, err := d.RevokeToken(t.Context(), owner.RevokeTokenIn{ID: out.Token.ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Authenticate(t.Context(), out.Secret); op.CodeOf(err) != op.Unauthorized || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("the call after: %v", err)
	}
	for _, id := range []string{out.Token.ID, "nonsense", "0197a3f0-0000-7000-8000-000000000000"} {
		if _, err := d.RevokeToken(t.Context(), owner.RevokeTokenIn{ID: id}); op.CodeOf(err) != op.NotFound {
			t.Errorf("revoking %s: %v", id, err)
		}
	}
	list, err := d.Tokens(t.Context(), owner.TokensIn{})
	if err != nil || len(list.Tokens) != 1 || list.Tokens[0].State != owner.TokenRevoked {
		t.Errorf("%+v, %v", list, err)
	}
	var all string
	if err := db.QueryRow(t.Context(), `select (select string_agg(t::text, '') from tokens t) || (select string_agg(e::text, '') from events e)`).Scan(&all); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(all, strings.TrimPrefix(out.Secret, "gatehouse_")) {
		t.Error("the secret can be read in the database")
	}
}

func TestTokenEventsAreThin(t *testing.T) {
	t.Parallel()
	d, db := fresh(t)
	out := issued(t, d, 0, op.Read, op.Write)
	if _, err := d.RevokeToken(t.Context(), owner.RevokeTokenIn{ID: out.Token.ID}); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{owner.TokenIssued, owner.TokenRevocation} {
		var data []byte
		var subject string
		if err := db.QueryRow(t.Context(), `select data, subject from events where type = $1`, kind).Scan(&data, &subject); err != nil {
			t.Fatal(kind, err)
		}
		golden, err := os.ReadFile("testdata/events/" + kind + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var got, want any
		if err := errors.Join(json.Unmarshal(data, &got), json.Unmarshal(golden, &want)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" || subject != "token://"+out.Token.ID {
			t.Errorf("%s of %s (-golden +recorded):\n%s", kind, subject, diff)
		}
	}
}

func TestTokenExpires(t *testing.T) {
	t.Parallel()
	d, db := fresh(t)
	out := issued(t, d, 7, op.Read)
	if left := time.Until(*out.Token.ExpiresAt); left < 6*24*time.Hour || left > 7*24*time.Hour+time.Minute {
		t.Errorf("expires in %v", left)
	}
	if _, err := d.Authenticate(t.Context(), out.Secret); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(t.Context(), `update tokens set expires_at = clock_timestamp()`); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Authenticate(t.Context(), out.Secret); op.CodeOf(err) != op.Unauthorized || !strings.Contains(err.Error(), "expired") {
		t.Error(err)
	}
}

// A busy AI must not turn every read into a write.
func TestUseIsWrittenOnceAMinute(t *testing.T) {
	t.Parallel()
	d, db := fresh(t)
	out := issued(t, d, 0, op.Read)
	used := func() (at *time.Time, row string) {
		t.Helper()
		if _, err := d.Authenticate(t.Context(), out.Secret); err != nil {
			t.Fatal(err)
		}
		if err := db.QueryRow(t.Context(), `select used_at, xmin::text from tokens`).Scan(&at, &row); err != nil {
			t.Fatal(err)
		}
		return at, row
	}
	first, row := used()
	if first == nil {
		t.Fatal("the first use is not noted")
	}
	if _, again := used(); again != row {
		t.Error("the second use within a minute was written")
	}
	if _, err := db.Exec(t.Context(), `update tokens set used_at = used_at - interval '61 seconds'`); err != nil {
		t.Fatal(err)
	}
	if later, _ := used(); later.Before(*first) {
		t.Errorf("a minute later it still says %v", later)
	}
}

func TestTokenRefusals(t *testing.T) {
	t.Parallel()
	d, db := fresh(t)
	byReader := op.WithCaller(t.Context(), op.Caller{Token: "t", Classes: []op.Class{op.Read, op.Credential}})
	for name, c := range map[string]struct {
		in    owner.IssueTokenIn
		token bool
		field string
	}{
		"no name":                 {owner.IssueTokenIn{Name: " ", Classes: []op.Class{op.Read}}, false, "name"},
		"no class":                {owner.IssueTokenIn{Name: "a"}, false, "classes"},
		"unknown class":           {owner.IssueTokenIn{Name: "a", Classes: []op.Class{"root"}}, false, "classes"},
		"too long":                {owner.IssueTokenIn{Name: "a", Classes: []op.Class{op.Read}, Days: 3651}, false, "days"},
		"more than its own right": {owner.IssueTokenIn{Name: "a", Classes: []op.Class{op.Read, op.Write}}, true, "classes"},
	} {
		ctx := t.Context()
		if c.token {
			ctx = byReader
		}
		if _, err := d.IssueToken(ctx, c.in); op.CodeOf(err) != op.Invalid || !strings.HasPrefix(err.Error(), c.field+":") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := d.IssueToken(byReader, owner.IssueTokenIn{Name: "a", Classes: []op.Class{op.Read}}); err != nil {
		t.Errorf("what it may do itself: %v", err)
	}
	if _, err := db.Exec(t.Context(), `insert into tokens (owner_id, name, token_hash, classes)
		select id, 'many', sha256(n::text::bytea), '{read}' from owners, generate_series(1, 99) n`); err != nil {
		t.Fatal(err)
	}
	if _, err := d.IssueToken(t.Context(), owner.IssueTokenIn{Name: "a", Classes: []op.Class{op.Read}}); op.CodeOf(err) != op.Invalid {
		t.Errorf("the hundred and first: %v", err)
	}
	for _, secret := range []string{"", "gatehouse_", "gatehouse_guess", "guess", "gatehouse_" + strings.Repeat("x", 5000), "gatehouse_\x00\xff"} {
		if _, err := d.Authenticate(t.Context(), secret); op.CodeOf(err) != op.Unauthorized {
			t.Errorf("%.20q: %v", secret, err)
		}
	}
}
