package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/seal"
)

// SealedKey is one signing key with its secret half.
type SealedKey struct {
	Key
	Private string `json:"private"` // whsec_… or whsk_…
}

// Live reports whether the key signs at that time.
func (k SealedKey) Live(at time.Time) bool { return k.Until == nil || at.Before(*k.Until) }

// Secrets are what is kept sealed with an endpoint: its keys, newest first, and its headers, whose values are tokens as
// often as not.
type Secrets struct {
	Keys    []SealedKey `json:"keys"`
	Headers []Header    `json:"headers"`
}

// sealedPlace binds sealed secrets to their row.
func sealedPlace(endpointID string) string { return "webhook_endpoints.secrets_enc:" + endpointID }

func (d *Domain) seal(endpointID string, s Secrets) ([]byte, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write secrets: %w", err)
	}
	return d.Sealer.Seal(raw, sealedPlace(endpointID)), nil
}

// Open reads the secrets of an endpoint. It fails with a *seal.WrongKeyError when the installation's own key was lost.
func (d *Domain) Open(endpointID string, sealed []byte) (s Secrets, err error) {
	if sealed == nil {
		return s, nil // deleted
	}
	raw, err := d.Sealer.Open(sealed, sealedPlace(endpointID))
	if err != nil {
		return s, fmt.Errorf("open the secrets of endpoint %s: %w", endpointID, err)
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, fmt.Errorf("read the secrets of endpoint %s: %w", endpointID, err)
	}
	return s, nil
}

// KeyUse is what the installation's key does for the endpoints that are there.
type KeyUse struct {
	Opened  int            // endpoints whose secrets it opens
	Closed  map[string]int // endpoints whose secrets are sealed under another key, by that key's id
	Damaged []string       // ids of endpoints whose secrets no key opens
}

// TryKey tries the installation's key on the secrets of every endpoint. Without a key all of them are closed.
func (d *Domain) TryKey(ctx context.Context) (use KeyUse, err error) {
	rows, err := readRows(ctx, d.DB, `where e.deleted_at is null`)
	if err != nil {
		return use, err
	}
	use.Closed = map[string]int{}
	for _, r := range rows {
		under, err := seal.KeyIDOf(r.Sealed)
		if err == nil && (d.Sealer == nil || d.Sealer.KeyID() != under) {
			use.Closed[under]++
			continue
		}
		if err == nil {
			_, err = d.Open(r.ID, r.Sealed)
		}
		if err != nil {
			use.Damaged = append(use.Damaged, r.ID)
			continue
		}
		use.Opened++
	}
	return use, nil
}

// shown are the keys that sign now, without their secret halves.
func shown(keys []SealedKey, now time.Time) []Key {
	out := make([]Key, 0, len(keys))
	for _, k := range keys {
		if k.Live(now) {
			out = append(out, k.Key)
		}
	}
	return out
}

func (d *Domain) newKey(s Scheme, now time.Time) SealedKey {
	id, private, public := d.Wire.NewKey(s)
	return SealedKey{Key: Key{ID: id, Scheme: s, Public: public, CreatedAt: now}, Private: private}
}
