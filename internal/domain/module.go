// Package domain holds what every domain hands over to be run. The domains
// themselves are the packages below it.
package domain

import (
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// Module is a domain as data. cmd/server/run.go collects one a domain.
type Module struct {
	Name          string
	Types         []events.Type
	Subscriptions []events.Subscription
	Kinds         []jobs.Kind
	Periodics     []jobs.Periodic
	Ops           []op.Op
}
