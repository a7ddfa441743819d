package webhooks

import (
	"context"
	"fmt"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// What to do with parked deliveries when an endpoint is switched on.
const (
	ParkedDeliver = "deliver"
	ParkedDrop    = "drop"
)

// EnableIn switches an endpoint on.
type EnableIn struct {
	ID          string    `json:"id"`
	Version     int64     `json:"version,omitempty" jsonschema:"the version you saw; the call is refused if it has changed since. Left out: not compared"`
	Parked      string    `json:"parked,omitempty" jsonschema:"deliver (slowly at first) or drop what was parked; needed when anything is"`
	ParkedUntil time.Time `json:"parked_until,omitzero" jsonschema:"the choice is about what was parked by then, and what came later is delivered; left out: now"`
}

// Enabled is an endpoint that was switched on, and what that meant for what was parked.
type Enabled struct {
	Endpoint
	Released Count `json:"released" jsonschema:"parked deliveries that are sent from now on, slowly at first"`
	Dropped  int   `json:"dropped"`
}

// Enable switches an endpoint on and forgets its failures. One that is on already is left as it is.
func (d *Domain) Enable(ctx context.Context, in EnableIn) (Enabled, error) {
	var out Enabled
	if in.Parked != "" && in.Parked != ParkedDeliver && in.Parked != ParkedDrop {
		return out, op.Invalidf("parked", "Choose deliver or drop.")
	}
	err := pg.InTx(ctx, d.DB, func(tx pg.Tx) error {
		r, err := d.live(ctx, tx, Ref{ID: in.ID, Version: in.Version}, "for update of e")
		if err != nil {
			return err
		}
		if !r.Enabled {
			if err := d.enable(ctx, tx, r, in, &out); err != nil {
				return err
			}
		}
		out.Endpoint, err = d.reread(ctx, tx, r.ID)
		return err
	})
	return out, err
}

func (d *Domain) enable(ctx context.Context, tx pg.Tx, r row, in EnableIn, out *Enabled) error {
	if err := lockState(ctx, tx, r.ID); err != nil {
		return err
	}
	if err := d.decideParked(ctx, tx, r, in, out); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `update public.webhook_endpoints set enabled = true, disabled_reason = '', disabled_at = null where id = $1::uuid`, r.ID)
	if err != nil {
		return fmt.Errorf("switch endpoint %s on: %w", r.ID, err)
	}
	_, err = tx.Exec(ctx, `
update public.webhook_endpoint_state set failing_since = null, failed_attempts = 0, failed_days = 0, failed_on = null, not_before = null
where endpoint_id = $1::uuid`, r.ID)
	if err != nil {
		return fmt.Errorf("forget failures of endpoint %s: %w", r.ID, err)
	}
	return d.touch(ctx, tx, r.ID, "enabled")
}

// decideParked does with what was parked as the owner says. What came after the owner looked was not part of the question:
// it is delivered, as it would be at an endpoint that is on.
func (d *Domain) decideParked(ctx context.Context, tx pg.Tx, r row, in EnableIn, out *Enabled) error {
	until := in.ParkedUntil
	if until.IsZero() {
		until = r.now
	}
	asked, err := countParked(ctx, tx, r.ID, until)
	if err != nil {
		return err
	}
	switch {
	case asked.N > 0 && in.Parked == "":
		return undecided(asked)
	case in.Parked == ParkedDrop:
		tag, err := tx.Exec(ctx, `
update public.webhook_deliveries set state = 'dropped', settled_at = clock_timestamp()
where endpoint_id = $1::uuid and state = 'parked' and created_at <= $2`, r.ID, until)
		if err != nil {
			return fmt.Errorf("drop parked deliveries of endpoint %s: %w", r.ID, err)
		}
		out.Dropped = int(tag.RowsAffected())
	}
	open, err := counts(ctx, tx, []string{r.ID})
	if err != nil {
		return err
	}
	if out.Released = countOf(open[r.ID][Parked]); out.Released.N == 0 {
		return nil
	}
	return d.startCatchUp(ctx, tx, r.ID)
}

func undecided(n Count) error {
	return op.Invalidf("parked", "%s deliveries are parked: say whether to deliver or to drop them.", n)
}

func countParked(ctx context.Context, q pg.Querier, id string, until time.Time) (Count, error) {
	var n int
	err := q.QueryRow(ctx, `select count(*) from (
  select from public.webhook_deliveries where endpoint_id = $1::uuid and state = 'parked' and created_at <= $2 limit $3) p`, id, until, countLimit+1).Scan(&n)
	if err != nil {
		return Count{}, fmt.Errorf("count parked deliveries of endpoint %s: %w", id, err)
	}
	return countOf(n), nil
}

// planEnable counts what is parked, and freezes the version and until when it had been parked. The lock waits for events
// that are being matched to the endpoint at this moment, so that none of before is missed by the count and met by the deed.
func (d *Domain) planEnable(ctx context.Context, in EnableIn) (op.Preview, EnableIn, error) {
	var p op.Preview
	err := pg.InTx(ctx, d.DB, func(tx pg.Tx) error {
		r, err := d.live(ctx, tx, Ref{ID: in.ID, Version: in.Version}, "for update of e")
		if err != nil {
			return err
		}
		in.Version = r.Version
		if in.ParkedUntil.IsZero() {
			if in.ParkedUntil, err = pg.Now(ctx, tx); err != nil {
				return err
			}
		}
		n, err := countParked(ctx, tx, r.ID, in.ParkedUntil)
		if err != nil {
			return err
		}
		p = op.Preview{Count: n.N, AtLeast: n.AtLeast, Sample: []string{r.name()}}
		switch {
		case r.Enabled:
			p.Summary = fmt.Sprintf("The endpoint %s is on already: nothing changes.", r.name())
		case n.N > 0 && in.Parked == "":
			return undecided(n)
		case n.N == 0:
			p.Summary = fmt.Sprintf("Switch the endpoint %s on. Nothing is parked; what is until then is delivered.", r.name())
		case in.Parked == ParkedDeliver:
			p.Summary = fmt.Sprintf("Switch the endpoint %s on, and deliver the %s deliveries that are parked: one, then twice as many each second.", r.name(), n)
		case in.Parked == ParkedDrop:
			p.Summary = fmt.Sprintf("Switch the endpoint %s on, and drop the %s deliveries that are parked. They stay in the log; what is parked from now on is delivered.", r.name(), n)
		default:
			return op.Invalidf("parked", "Choose deliver or drop.")
		}
		return nil
	})
	return p, in, err
}
