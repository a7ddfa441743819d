package main

import (
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/infra/egress"
)

func TestAnAllowListThatOpensTooMuchIsNamed(t *testing.T) {
	t.Parallel()
	for list, want := range map[string][]string{
		"":                              nil,
		"192.168.1.0/24, nas.lan":       nil,
		"127.0.0.1":                     {"egress_loopback"},
		"localhost":                     {"egress_loopback"},
		"169.254.169.254":               {"egress_metadata"},
		"metadata.google.internal, ::1": {"egress_metadata", "egress_loopback"},
		"0.0.0.0/0":                     {"egress_metadata", "egress_loopback"},
	} {
		allow, err := egress.ParseAllow(list)
		if err != nil {
			t.Fatal(err)
		}
		a := &app{cfg: config{egressAllow: allow}}
		found, err := a.egressAlerts(t.Context())
		if err != nil || len(found) != len(want) {
			t.Errorf("%q: %+v, error %v; want %v", list, found, err, want)
			continue
		}
		for i, r := range found {
			if r.Code != want[i] || r.Evidence == "" || r.Next == "" || r.Link == "" {
				t.Errorf("%q: %+v, want %s", list, r, want[i])
			}
		}
	}
}
