package events

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

var (
	// ErrUndeclaredType: no module declares an event type of that name.
	ErrUndeclaredType = errors.New("undeclared type of event")
	// ErrNoTransaction: Record was called on a recorder that With never bound.
	ErrNoTransaction = errors.New("events are recorded inside a transaction")
	// ErrBadEvent: subject or data cannot be stored, or are not thin.
	ErrBadEvent = errors.New("event cannot be stored")
)

// Bounds of what Record takes, in bytes. An event is thin; these only stop mistakes.
const (
	MaxData    = 8 << 10
	MaxSubject = 16 << 10
)

type recorder struct {
	types map[string]bool
	bell  *Bell
	tx    *pg.Tx
}

// NewRecorder returns a recorder of the declared types that rings bell after
// each commit with events.
func NewRecorder(types []Type, bell *Bell) Recorder {
	names := make(map[string]bool, len(types))
	for _, t := range types {
		names[t.Name] = true
	}
	return recorder{types: names, bell: bell}
}

func (r recorder) With(tx pg.Tx) Recorder {
	r.tx = &tx
	return r
}

func (r recorder) Record(ctx context.Context, ownerID, typ, subject string, data any) (string, error) {
	if r.tx == nil {
		return "", ErrNoTransaction
	}
	if !r.types[typ] {
		return "", fmt.Errorf("record %q: %w", typ, ErrUndeclaredType)
	}
	raw, err := storable(subject, data)
	if err != nil {
		return "", fmt.Errorf("record %s: %w", typ, err)
	}
	var id string
	// The column's default reads the cause that InTx set; a transaction begun elsewhere (pg.Bind) has not set it.
	err = r.tx.QueryRow(ctx, `
insert into public.events (owner_id, type, subject, data, cause)
values ($1::uuid, $2, $3, $4::jsonb, coalesce(nullif($5, ''), nullif(current_setting('gatehouse.cause', true), ''))::jsonb)
returning id::text`, ownerID, typ, subject, raw, pg.CauseFrom(ctx).JSON()).Scan(&id)
	if err != nil {
		return "", fmt.Errorf("record %s: %w", typ, err)
	}
	r.tx.AfterCommit(r.bell.Ring)
	return id, nil
}

// storable is data as a JSON object that the database takes.
func storable(subject string, data any) (string, error) {
	if len(subject) > MaxSubject || strings.ContainsRune(subject, 0) || !utf8.ValidString(subject) {
		return "", fmt.Errorf("%w: its subject is longer than %d bytes or not plain text", ErrBadEvent, MaxSubject)
	}
	if data == nil {
		return "{}", nil
	}
	raw, err := json.Marshal(data)
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: %w", ErrBadEvent, err)
	case !isObject(raw):
		return "", fmt.Errorf("%w: its data is not a JSON object", ErrBadEvent)
	case len(raw) > MaxData:
		return "", fmt.Errorf("%w: its data has %d bytes, more than %d", ErrBadEvent, len(raw), MaxData)
	case holdsNUL(raw):
		return "", fmt.Errorf("%w: its data holds a NUL character, which the database refuses", ErrBadEvent)
	}
	return string(raw), nil
}

func isObject(raw []byte) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == '{'
}

// holdsNUL looks for the escape \u0000, not preceded by a backslash of its own.
func holdsNUL(raw []byte) bool {
	for i := bytes.IndexByte(raw, '\\'); i >= 0 && i+1 < len(raw); {
		if bytes.HasPrefix(raw[i:], []byte(`\u0000`)) {
			return true
		}
		next := bytes.IndexByte(raw[i+2:], '\\')
		if next < 0 {
			return false
		}
		i += 2 + next
	}
	return false
}
