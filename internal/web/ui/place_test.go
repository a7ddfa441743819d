package ui_test

import (
	"strconv"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

func TestTheWayBackIsTheWayThere(t *testing.T) {
	t.Parallel()
	var p ui.Place
	way := []ui.Place{p}
	for i := range 30 {
		p = p.Older("c" + strconv.Itoa(i))
		way = append(way, p)
	}
	for i := len(way) - 1; i > 0; i-- {
		if p != way[i] {
			t.Fatalf("page %d: at %+v, want %+v", i, p, way[i])
		}
		p = p.Newer()
	}
	if p != (ui.Place{}) || p.Newer() != (ui.Place{}) {
		t.Errorf("ends at %+v", p)
	}
}

func TestAWayThatIsTooLongForAnAddressIsCutAtItsBeginning(t *testing.T) {
	t.Parallel()
	var p ui.Place
	for i := range 1000 {
		p = p.Older("cursor" + strconv.Itoa(i))
	}
	if len(p.Trail) > 1000 || p.Newer().Cursor != "cursor998" {
		t.Errorf("%d bytes, back to %s", len(p.Trail), p.Newer().Cursor)
	}
	for range 1000 {
		p = p.Newer()
	}
	if p != (ui.Place{}) {
		t.Errorf("ends at %+v", p)
	}
}
