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

// planRedeliverFailed counts what would be sent again, and freezes until when it had failed.
func (d *Domain) planRedeliverFailed(ctx context.Context, in RedeliverFailedIn) (op.Preview, RedeliverFailedIn, error) {
	if in.Until.IsZero() {
		now, err := pg.Now(ctx, d.DB)
		if err != nil {
			return op.Preview{}, in, err
		}
		in.Until = now
	}
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

// planDelete names the endpoint and counts what its deletion would cancel. The version is frozen: an endpoint that is
// changed between plan and deed is not deleted.
func (d *Domain) planDelete(ctx context.Context, in Ref) (op.Preview, Ref, error) {
	r, err := d.live(ctx, d.DB, in, "")
	if err != nil {
		return op.Preview{}, in, err
	}
	open, err := counts(ctx, d.DB, []string{r.ID})
	if err != nil {
		return op.Preview{}, in, err
	}
	waiting, parked := countOf(open[r.ID][Waiting]), countOf(open[r.ID][Parked])
	in.Version = r.Version
	return op.Preview{
		Summary: fmt.Sprintf("Delete the endpoint %s: nothing is sent to it any more, its secret is forgotten, and %s waiting and %s parked deliveries are cancelled. Its log stays readable for 14 days.",
			r.name(), waiting, parked),
		Count: waiting.N + parked.N, AtLeast: waiting.AtLeast || parked.AtLeast, Sample: []string{r.name()},
	}, in, nil
}
