package events

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"
)

// Flow counts the events written and those fanned out in [from, to). Written ones are found by their ids, which begin
// with their time: an index on it would cost every writer.
func (b *Bus) Flow(ctx context.Context, from, to time.Time) (written, relayed int, err error) {
	err = b.cfg.DB.QueryRow(ctx, `
select (select count(*) from public.events where id >= $1::uuid and id < $2::uuid),
  (select count(*) from public.events where fanned_out_at >= $3 and fanned_out_at < $4)`,
		firstID(from), firstID(to), from, to).Scan(&written, &relayed)
	if err != nil {
		return 0, 0, fmt.Errorf("count events: %w", err)
	}
	return written, relayed, nil
}

// firstID is the lowest id that an event of that millisecond can have (RFC 9562, version 7).
func firstID(at time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(at.UnixMilli())<<16)
	return hex.EncodeToString(b[:])
}
