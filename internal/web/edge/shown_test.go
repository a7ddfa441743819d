package edge_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
)

func TestOnlyRowsThatAPageCanShowAreReadAgain(t *testing.T) {
	t.Parallel()
	const id = "0190f5b0-0000-7000-8000-000000000001"
	if got, err := edge.Numbers("12.11"); err != nil || len(got) != 2 || got[0] != 12 || got[1] != 11 {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := edge.UUIDs(id + "." + id); err != nil || len(got) != 2 || got[1] != id {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"", "x", "0", "-1", "1.", "1,2", "99999999999999999999", "1" + strings.Repeat(".1", 100)} {
		if _, err := edge.Numbers(text); !errors.Is(err, edge.ErrNotFound) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	for _, text := range []string{"", "x", id + ".", id + "." + id[1:], id + strings.Repeat("."+id, 100)} {
		if _, err := edge.UUIDs(text); !errors.Is(err, edge.ErrNotFound) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}
