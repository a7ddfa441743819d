package main

import (
	"context"
	"strconv"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// fanout answers, for a domain's receipts, what the events of a transaction
// became.
type fanout struct {
	bus  *events.Bus
	pool *pg.DB
}

func (f fanout) EventsOfTx(ctx context.Context, txid string) ([]string, error) {
	n, err := strconv.ParseUint(txid, 10, 64)
	if err != nil {
		return nil, err
	}
	found, err := f.bus.EventsOfTx(ctx, f.pool, n)
	ids := make([]string, 0, len(found))
	for _, e := range found {
		ids = append(ids, e.ID)
	}
	return ids, err
}

func (f fanout) AwaitFanout(ctx context.Context, ids []string, max time.Duration) (map[string]map[string]jobs.ID, bool) {
	if !f.bus.AwaitFanout(ctx, ids, max) {
		return nil, false
	}
	out := make(map[string]map[string]jobs.ID, len(ids))
	for _, id := range ids {
		e, err := f.bus.Get(ctx, id)
		if err != nil {
			return nil, false
		}
		out[id] = e.Fanout
	}
	return out, true
}
