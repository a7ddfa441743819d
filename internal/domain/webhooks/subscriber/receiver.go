package subscriber

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events/webhook"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// receiver is an endpoint ready to be sent to.
type receiver struct {
	version   int64
	url       string
	headers   []webhook.Header
	perSecond int
	keys      []signer
}

type signer struct {
	webhooks.SealedKey
	sign webhook.Signer
}

// signers are the keys that sign at that time: whether an overlap is over is decided at each send.
func (r *receiver) signers(at time.Time) []webhook.Signer {
	out := make([]webhook.Signer, 0, len(r.keys))
	for _, k := range r.keys {
		if k.Live(at) {
			out = append(out, k.sign)
		}
	}
	return out
}

// receivers keeps opened endpoints by version, so that a delivery neither reads nor opens secrets.
type receivers struct {
	domain *webhooks.Domain
	mu     sync.Mutex
	byID   map[string]*receiver
}

// get is the endpoint at that version or a newer one.
func (rs *receivers) get(ctx context.Context, id string, version int64) (*receiver, error) {
	rs.mu.Lock()
	r := rs.byID[id]
	rs.mu.Unlock()
	if r != nil && r.version >= version {
		return r, nil
	}
	r, err := rs.read(ctx, id)
	if err != nil {
		return nil, err
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if known := rs.byID[id]; known != nil && known.version > r.version {
		return known, nil
	}
	rs.byID[id] = r
	return r, nil
}

func (rs *receivers) forget(id string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	delete(rs.byID, id)
}

func (rs *receivers) read(ctx context.Context, id string) (*receiver, error) {
	var r receiver
	var sealed []byte
	err := rs.domain.DB.QueryRow(ctx, `
select version, url, max_per_second, secrets_enc from public.webhook_endpoints where id = $1::uuid and deleted_at is null`, id).
		Scan(&r.version, &r.url, &r.perSecond, &sealed)
	if pg.NoRows(err) {
		return nil, errDeleted
	}
	if err != nil {
		return nil, fmt.Errorf("read endpoint %s: %w", id, err)
	}
	secrets, err := rs.domain.Open(id, sealed)
	if err != nil {
		return nil, err
	}
	for _, h := range secrets.Headers {
		r.headers = append(r.headers, webhook.Header{Name: h.Name, Value: h.Value})
	}
	for _, k := range secrets.Keys {
		s, err := readKey(k)
		if err != nil {
			return nil, fmt.Errorf("read a key of endpoint %s: %w", id, err)
		}
		r.keys = append(r.keys, signer{SealedKey: k, sign: s})
	}
	return &r, nil
}

func readKey(k webhooks.SealedKey) (webhook.Signer, error) {
	if k.Scheme == webhooks.Ed25519 {
		return webhook.ParseKey(k.Private)
	}
	return webhook.ParseSecret(k.Private)
}
