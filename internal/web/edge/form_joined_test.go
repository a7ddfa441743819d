package edge

import (
	"errors"
	"net/url"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

func TestJoinedErrorsReachTheirFields(t *testing.T) {
	t.Parallel()
	f := Filled(url.Values{})
	if !f.Absorb(errors.Join(op.Invalidf("email", "Not an address."), nil, op.Invalidf("password", "Too short."))) {
		t.Fatal("an error about the form was not taken")
	}
	if f.Err("email") != "Not an address." || f.Err("password") != "Too short." {
		t.Fatalf("email %q, password %q", f.Err("email"), f.Err("password"))
	}
	if f.Absorb(errors.Join(op.Invalidf("email", "Not an address."), errors.New("disk on fire"))) {
		t.Fatal("an internal error was taken for one about the form")
	}
}
