package webhooks

import (
	"context"
	"fmt"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// planRecover counts what a recovery would send, and freezes the window's end.
func (d *Domain) planRecover(ctx context.Context, in RecoverIn) (op.Preview, RecoverIn, error) {
	if in.Until.IsZero() {
		now, err := pg.Now(ctx, d.DB)
		if err != nil {
			return op.Preview{}, in, err
		}
		in.Until = now
	}
	looked := in
	looked.CountOnly = true
	out, err := d.Recover(ctx, looked)
	return sends(out, in.EndpointID), in, err
}

// planRedeliverFailed counts what would be sent again.
func (d *Domain) planRedeliverFailed(ctx context.Context, in RedeliverFailedIn) (op.Preview, RedeliverFailedIn, error) {
	looked := in
	looked.CountOnly = true
	out, err := d.RedeliverFailed(ctx, looked)
	return sends(out, in.EndpointID), in, err
}

func sends(out RecoverOut, endpoint string) op.Preview {
	return op.Preview{
		Summary: fmt.Sprintf("Send these deliveries to endpoint %s again, under the ids they had, as one task that can be stopped by cancelling it.", endpoint),
		Count:   out.Count.N, AtLeast: out.Count.AtLeast,
	}
}

// planRedeliver names the deliveries that would be sent again.
func (d *Domain) planRedeliver(_ context.Context, in RedeliverIn) (op.Preview, RedeliverIn, error) {
	return op.Preview{Summary: "Send these deliveries again, under the ids they had.", Count: len(in.EventIDs), Sample: in.EventIDs}, in, nil
}
