package main

import (
	"context"
	"strings"

	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/egress"
)

// egressAlerts warns of an allow list that opens what hardly anybody means to open.
func (a *app) egressAlerts(context.Context) ([]tasks.Reason, error) {
	listed := "GATEHOUSE_EGRESS_ALLOW is " + strings.Join(a.cfg.egressAllow.Entries(), ", ") + "."
	var out []tasks.Reason
	if a.cfg.egressAllow.Opens(egress.Metadata) {
		out = append(out, tasks.Reason{Code: "egress_metadata", Verdict: tasks.Attention, Title: "Webhooks may reach the cloud's credential service",
			Evidence: listed + " An address typed into an endpoint can read this machine's credentials.",
			Next:     "Narrow the list to the receivers you have, then restart. These are your endpoints.", Link: "/admin/webhooks"})
	}
	if a.cfg.egressAllow.Opens(egress.Loopback) {
		out = append(out, tasks.Reason{Code: "egress_loopback", Verdict: tasks.Attention, Title: "Webhooks may reach this machine itself",
			Evidence: listed + " An address typed into an endpoint can reach services here that trust local callers.",
			Next:     "List the address that a receiver here has in your network instead, then restart. These are your endpoints.", Link: "/admin/webhooks"})
	}
	return out, nil
}
