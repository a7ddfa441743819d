package instance

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// Choice is what the owner decides about what waits.
type Choice string

// The choices. Either lets go what happened here since the hold began.
const (
	Send Choice = "send" // send what came with the copy as well
	Drop Choice = "drop" // give it up: whoever it is for has it already, or will have it from the original
)

// Words are the choices, for the schema of what takes one.
func (Choice) Words() []string { return []string{string(Send), string(Drop)} }

// Hold keeps everything from leaving the house.
type Hold struct {
	ID         string     `json:"id"`
	Reason     string     `json:"reason" jsonschema:"what the database was recognised by, or who asked for the hold"`
	SetAt      time.Time  `json:"set_at"`
	Sessions   int        `json:"sessions" jsonschema:"sign-ins that ended with it"`
	Waiting    Waiting    `json:"waiting"`
	ReleasedAt *time.Time `json:"released_at,omitempty"`
	Choice     Choice     `json:"choice,omitempty"`
	Touched    int        `json:"touched" jsonschema:"deliveries that were dropped with the release"`
	until      int64
}

const holdColumns = `id::text, reason, set_at, sessions, released_at, coalesce(choice, ''), touched, until_seq`

func scanHold(row pgx.CollectableRow) (h Hold, err error) {
	err = row.Scan(&h.ID, &h.Reason, &h.SetAt, &h.Sessions, &h.ReleasedAt, &h.Choice, &h.Touched, &h.until)
	return h, err
}

// Current is the hold that is in force with what it keeps back; nil when there is none.
func (d *Domain) Current(ctx context.Context) (*Hold, error) {
	h, err := open(ctx, d.DB, "")
	if err != nil || h == nil {
		return nil, err
	}
	for _, s := range d.Senders {
		w, err := s.Held(ctx, d.DB, h.until)
		if err != nil {
			return nil, err
		}
		h.Waiting.Brought += w.Brought
		h.Waiting.Since += w.Since
		h.Waiting.Unmatched += w.Unmatched
		if h.Waiting.Oldest == nil || w.Oldest != nil && w.Oldest.Before(*h.Waiting.Oldest) {
			h.Waiting.Oldest = w.Oldest
		}
	}
	return h, nil
}

// Past lists the holds that were released, the newest first.
func (d *Domain) Past(ctx context.Context) ([]Hold, error) {
	rows, err := d.DB.Query(ctx, `select `+holdColumns+` from public.holds where released_at is not null order by released_at desc limit 20`)
	if err != nil {
		return nil, fmt.Errorf("read past holds: %w", err)
	}
	return pgx.CollectRows(rows, scanHold)
}

func open(ctx context.Context, q pg.Querier, lock string) (*Hold, error) {
	rows, err := q.Query(ctx, `select `+holdColumns+` from public.holds where released_at is null `+lock)
	if err != nil {
		return nil, fmt.Errorf("read the hold: %w", err)
	}
	h, err := pgx.CollectExactlyOneRow(rows, scanHold)
	if pg.NoRows(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the hold: %w", err)
	}
	return &h, nil
}

// hold sets one, or renews the one in force: what it covers then reaches up to now.
func (d *Domain) hold(ctx context.Context, tx pg.Tx, reason string, signOut bool) (sessions int, err error) {
	if signOut && d.SignOut != nil {
		if sessions, err = d.SignOut(ctx, tx); err != nil {
			return 0, fmt.Errorf("end sessions: %w", err)
		}
	}
	// The sequence knows of every event there ever was; the largest number in the table would take a scan to find.
	_, err = tx.Exec(ctx, `
insert into public.holds (reason, until_seq, sessions)
select $1, case when is_called then last_value else 0 end, $2 from public.events_seq_seq
on conflict ((true)) where released_at is null
do update set reason = excluded.reason, until_seq = excluded.until_seq, sessions = holds.sessions + excluded.sessions, set_at = clock_timestamp()`,
		reason, sessions)
	if err != nil {
		return 0, fmt.Errorf("set the hold: %w", err)
	}
	return sessions, nil
}

// HoldIn says why.
type HoldIn struct {
	Reason string `json:"reason,omitempty" jsonschema:"why, for whoever reads it later"`
}

// maxReason bounds what is typed, in bytes.
const maxReason = 500

// Hold keeps back all sends from now on. What is on its way at this moment is not called back. One that is in force already
// stays as it is.
func (d *Domain) Hold(ctx context.Context, in HoldIn) (Hold, error) {
	if len(in.Reason) > maxReason {
		return Hold{}, op.Invalidf("reason", "Use at most %d characters.", maxReason)
	}
	if in.Reason == "" {
		in.Reason = "You put it on hold."
	}
	err := pg.InTx(ctx, d.DB, func(tx pg.Tx) error {
		if h, err := open(ctx, tx, "for update"); err != nil || h != nil {
			return err
		}
		_, err := d.hold(ctx, tx, in.Reason, false)
		return err
	})
	if err != nil {
		return Hold{}, err
	}
	h, err := d.Current(ctx)
	if err != nil || h == nil { // released by somebody else in this very moment
		return Hold{}, err
	}
	return *h, nil
}

// ReleaseIn names the hold as the owner saw it, and the choice.
type ReleaseIn struct {
	ID     string `json:"id" jsonschema:"the hold's id, as instance.status shows it"`
	Choice Choice `json:"choice" jsonschema:"send what came with the copy, or drop it; what happened since is sent either way"`
}

// ReleaseOut says what became of what waited.
type ReleaseOut struct {
	Dropped int `json:"dropped"`
}

// Release ends a hold.
func (d *Domain) Release(ctx context.Context, in ReleaseIn) (ReleaseOut, error) {
	var out ReleaseOut
	err := pg.InTx(ctx, d.DB, func(tx pg.Tx) error {
		out = ReleaseOut{}
		h, err := d.decide(ctx, tx, in, "for update")
		if err != nil {
			return err
		}
		// Before the senders let go, so that what they wake up finds it done.
		if _, err := tx.Exec(ctx, `update public.holds set released_at = clock_timestamp(), choice = $2 where id = $1::uuid`, h.ID, in.Choice); err != nil {
			return fmt.Errorf("end the hold: %w", err)
		}
		for _, s := range d.Senders {
			if in.Choice == Send {
				err = s.SendHeld(ctx, tx)
			} else {
				var n int
				n, err = s.DropHeld(ctx, tx, h.until)
				out.Dropped += n
			}
			if err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, `update public.holds set touched = $2 where id = $1::uuid`, h.ID, out.Dropped)
		return err
	})
	return out, err
}

// decide returns the hold that the choice is about.
func (d *Domain) decide(ctx context.Context, q pg.Querier, in ReleaseIn, lock string) (*Hold, error) {
	if in.Choice != Send && in.Choice != Drop {
		return nil, op.Invalidf("choice", "Say whether what waits is to be sent (send) or dropped (drop).")
	}
	h, err := open(ctx, q, lock)
	if err == nil && (h == nil || h.ID != in.ID) {
		err = op.Errorf(op.Conflict, "This hold is not in force any more. Nothing was done.")
	}
	return h, err
}

// planRelease counts what a release would touch.
func (d *Domain) planRelease(ctx context.Context, in ReleaseIn) (op.Preview, ReleaseIn, error) {
	if _, err := d.decide(ctx, d.DB, in, ""); err != nil {
		return op.Preview{}, in, err
	}
	h, err := d.Current(ctx)
	if err != nil || h == nil {
		return op.Preview{}, in, err
	}
	p := op.Preview{Count: h.Waiting.Brought + h.Waiting.Since, AtLeast: h.Waiting.Unmatched > 0}
	p.Summary = fmt.Sprintf("End the hold and send what waits: %d deliveries that came with the copy and %d of since.", h.Waiting.Brought, h.Waiting.Since)
	if in.Choice == Drop {
		p.Summary = fmt.Sprintf("End the hold, drop %d deliveries that came with the copy, and send %d of since.", h.Waiting.Brought, h.Waiting.Since)
	}
	return p, in, nil
}
