package webhooks

import (
	"context"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// RotateIn asks for a new signing key.
type RotateIn struct {
	ID      string `json:"id"`
	Version int64  `json:"version,omitempty"`
	Overlap string `json:"overlap" jsonschema:"how long the old key signs as well: none, 1h, 24h or 7d"`
	Force   bool   `json:"force,omitempty" jsonschema:"rotate although an overlap is under way; the older of its keys stops at once"`
	Scheme  Scheme `json:"scheme,omitempty" jsonschema:"hmac or ed25519; left out: as it is"`
}

func overlapOf(text string) (time.Duration, error) {
	switch text {
	case "none":
		return 0, nil
	case "1h":
		return time.Hour, nil
	case "24h":
		return 24 * time.Hour, nil
	case "7d":
		return 7 * 24 * time.Hour, nil
	}
	return 0, op.Invalidf("overlap", "Choose none, 1h, 24h or 7d.")
}

// RotateSecret gives an endpoint a new key. During the overlap requests bear both signatures, so that the receiver can be
// changed at leisure; whether it is over is decided anew at each send.
func (d *Domain) RotateSecret(ctx context.Context, in RotateIn) (Created, error) {
	var out Created
	overlap, err := overlapOf(in.Overlap)
	if err != nil {
		return out, err
	}
	if in.Scheme != "" {
		if _, err := checkScheme(in.Scheme); err != nil {
			return out, err
		}
	}
	err = pg.InTx(ctx, d.DB, func(tx pg.Tx) error {
		r, err := d.live(ctx, tx, Ref{ID: in.ID, Version: in.Version}, "for update of e")
		if err != nil {
			return err
		}
		secrets, err := d.Open(r.ID, r.Sealed)
		if err != nil {
			return explainKey(err)
		}
		key, err := d.rotate(ctx, &secrets, r, in, overlap)
		if err != nil {
			return err
		}
		if err := d.storeSecrets(ctx, tx, r.ID, secrets); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `update public.webhook_endpoints set scheme = $2 where id = $1::uuid`, r.ID, key.Scheme); err != nil {
			return err
		}
		if err := d.touch(ctx, tx, r.ID, "secret"); err != nil {
			return err
		}
		e, err := d.reread(ctx, tx, r.ID)
		out = created(e, key)
		return err
	})
	return out, err
}

// rotate puts a new key in front and gives the one before it an end.
func (d *Domain) rotate(ctx context.Context, s *Secrets, r row, in RotateIn, overlap time.Duration) (SealedKey, error) {
	for _, k := range s.Keys {
		if k.Until != nil && k.Live(r.now) && !in.Force {
			return SealedKey{}, op.Errorf(op.Conflict, "The key before still signs until %s. Wait until then, or rotate all the same: the old key then stops at once.", domain.Moment(ctx, *k.Until))
		}
	}
	scheme := in.Scheme
	if scheme == "" {
		scheme = r.Scheme
	}
	key := d.newKey(scheme, r.now)
	keys := []SealedKey{key}
	if len(s.Keys) > 0 && overlap > 0 {
		old := s.Keys[0]
		until := r.now.Add(overlap)
		old.Until = &until
		keys = append(keys, old)
	}
	s.Keys = keys
	return key, nil
}
