package main

import (
	"slices"
	"testing"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	all := parts()
	chosen, skipped, err := choose(all, "")
	if err != nil || len(chosen) != len(all) || skipped != nil {
		t.Errorf("without a choice %d of %d parts, skipped %v, error %v", len(chosen), len(all), skipped, err)
	}
	chosen, skipped, err = choose(all, "idle,start")
	if err != nil || !slices.Equal(names(chosen), []string{"start", "idle"}) || len(skipped) != len(all)-2 {
		t.Errorf("chosen %v in the order of the run, skipped %v, error %v", names(chosen), skipped, err)
	}
	if _, _, err := choose(all, "idle,nonsense"); err == nil {
		t.Error("a part that does not exist is chosen")
	}
}

func TestPartsHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	seen := names(parts())
	slices.Sort(seen)
	if len(slices.Compact(seen)) != len(parts()) {
		t.Errorf("two parts share a name: %v", names(parts()))
	}
}
