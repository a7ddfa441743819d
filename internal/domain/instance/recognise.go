package instance

import (
	"context"
	"fmt"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// recogniseLock lets one process at a time compare and remember. The number is arbitrary and stable.
const recogniseLock = 0x6761_7465_686f_6c64

// Recognition is what Recognise found.
type Recognition struct {
	Reason   string   // why a hold was set; empty: nothing is remarkable
	Sessions int      // how many sessions ended with it
	Blind    []string // what the server does not tell
	Unkept   error    // why the data directory could not remember this start; it goes on without
}

// Recognise compares the database with what it and the data directory remember, sets a hold when it was restored or
// copied, and remembers this start. It is called at every start of the site, before anything is sent. because, if not
// empty, is a reason that is known already, as a sentence.
//
// A data directory that remembers nothing is no reason: one more process with a data directory of its own comes like that.
func (d *Domain) Recognise(ctx context.Context, because string) (Recognition, error) {
	now, blind, err := readFingerprint(ctx, d.DB)
	if err != nil {
		return Recognition{}, err
	}
	var r Recognition
	var kept *mirror
	var path string
	err = pg.InTx(ctx, d.DB, func(tx pg.Tx) error {
		r, kept = Recognition{Blind: blind, Reason: because}, nil
		if err := alone(ctx, tx); err != nil {
			return err
		}
		id, was, err := remember(ctx, tx, now)
		if err != nil {
			return err
		}
		path = mirrorFile(d.DataDir, id)
		different := ""
		if was != nil {
			different = now.differs(*was)
		}
		rolledBack, err := d.comeHome(ctx, tx, path, &kept, &r)
		if err != nil {
			return err
		}
		if different == "" && rolledBack {
			different = "it is older than what the data directory remembers"
		}
		if r.Reason == "" && different != "" {
			r.Reason = "This database was restored or copied: " + different + "."
		}
		if r.Reason == "" {
			return nil
		}
		r.Sessions, err = d.hold(ctx, tx, r.Reason, true)
		return err
	})
	if err != nil {
		return Recognition{}, err
	}
	if kept != nil {
		r.Unkept = d.settle(ctx, path, kept.Next)
	}
	if r.Reason != "" && d.Reindex != nil {
		if err := d.Reindex(ctx); err != nil {
			return r, fmt.Errorf("queue a rebuild of search: %w", err)
		}
	}
	return r, nil
}

// alone waits until no other process compares and remembers.
func alone(ctx context.Context, tx pg.Tx) error {
	if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock($1), set_config('synchronous_commit', 'on', true)`, int64(recogniseLock)); err != nil {
		return fmt.Errorf("wait for another process that starts: %w", err)
	}
	return nil
}

// settle forgets the nonce of the start before, now that the database has the one that came: a database of that time is
// recognised from here on. When another process of this data directory has started since, the file is about its start.
func (d *Domain) settle(ctx context.Context, path, nonce string) error {
	return pg.InTx(ctx, d.DB, func(tx pg.Tx) error {
		if err := alone(ctx, tx); err != nil {
			return err
		}
		m, err := readMirror(path)
		if err != nil || m == nil || m.Next != nonce {
			return err
		}
		m.Nonce, m.Next = m.Next, ""
		return m.write(path)
	})
}

// remember stores the fingerprint and returns the one before, nil in a database that had none.
func remember(ctx context.Context, tx pg.Tx, now fingerprint) (id string, was *fingerprint, err error) {
	var before fingerprint
	err = tx.QueryRow(ctx, `select id::text, system_id, timeline, database_oid, events_oid from public.instance`).
		Scan(&id, &before.System, &before.Timeline, &before.Database, &before.Events)
	switch {
	case pg.NoRows(err):
	case err != nil:
		return "", nil, fmt.Errorf("read which database this was: %w", err)
	default:
		was = &before
	}
	err = tx.QueryRow(ctx, `
insert into public.instance as i (system_id, timeline, database_oid, events_oid) values ($1, $2, $3, $4)
on conflict (one) do update set system_id = coalesce($1, i.system_id), timeline = coalesce($2, i.timeline), database_oid = $3, events_oid = $4
returning id::text`, now.System, now.Timeline, now.Database, now.Events).Scan(&id)
	if err != nil {
		return "", nil, fmt.Errorf("store which database this is: %w", err)
	}
	return id, was, nil
}

// comeHome changes the nonce of this data directory and reports whether the database does not know the one it had: it is
// then of an earlier time. A hold that was set since the data directory's last start has dealt with that already.
func (d *Domain) comeHome(ctx context.Context, tx pg.Tx, path string, kept **mirror, r *Recognition) (rolledBack bool, err error) {
	m, err := readMirror(path)
	if err != nil {
		r.Unkept = err
		return false, nil
	}
	if m == nil {
		m = &mirror{}
	} else {
		var nonce string
		err := tx.QueryRow(ctx, `select nonce::text from public.instance_homes where id = $1::uuid`, m.Home).Scan(&nonce)
		if err != nil && !pg.NoRows(err) {
			return false, fmt.Errorf("read the nonce of this data directory: %w", err)
		}
		if rolledBack = !m.knows(nonce); rolledBack {
			var dealtWith bool
			if err := tx.QueryRow(ctx, `select exists (select from public.holds where set_at > $1)`, m.At).Scan(&dealtWith); err != nil {
				return false, fmt.Errorf("look for a hold: %w", err)
			}
			rolledBack = !dealtWith
		} else {
			m.Nonce = nonce
		}
	}
	var at time.Time
	var home, next string
	if err := tx.QueryRow(ctx, `select clock_timestamp(), coalesce(nullif($1, '')::uuid, public.uuid_v7())::text, gen_random_uuid()::text`, m.Home).Scan(&at, &home, &next); err != nil {
		return false, fmt.Errorf("draw a nonce: %w", err)
	}
	m.Home, m.Next, m.At = home, next, at
	// The file first: killed after it, the database's old nonce is known still, and its new one already.
	if err := m.write(path); err != nil {
		r.Unkept = err
		return rolledBack, nil
	}
	*kept = m
	_, err = tx.Exec(ctx, `
insert into public.instance_homes (id, nonce, started_at) values ($1::uuid, $2::uuid, $3)
on conflict (id) do update set nonce = excluded.nonce, started_at = excluded.started_at`, home, next, at)
	if err == nil {
		// Containers without a volume leave one behind at every start.
		_, err = tx.Exec(ctx, `delete from public.instance_homes where started_at < clock_timestamp() - interval '1 year'`)
	}
	if err != nil {
		return false, fmt.Errorf("store the nonce of this data directory: %w", err)
	}
	return rolledBack, nil
}
