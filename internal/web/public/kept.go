package public

import (
	"context"
	"sync"
)

// kept holds what is derived from all public notes, as long as none of them changes: with 5,000 notes the tree alone
// takes some 50 ms to make. The corpus's stamp says whether it is still true; it is asked for every time, so that
// nothing that was unpublished is shown once more.
type kept[T any] struct {
	mu    sync.Mutex
	stamp string
	value T
}

// get returns the value that goes with the stamp of this moment. The stamp is read first: a change that comes in
// between makes the value newer than its stamp, never older.
func (k *kept[T]) get(ctx context.Context, stamp func(context.Context) (string, error), derive func(context.Context) (T, error)) (T, error) {
	var none T
	now, err := stamp(ctx)
	if err != nil {
		return none, err
	}
	if value, ok := k.read(now); ok {
		return value, nil
	}
	value, err := derive(ctx)
	if err != nil {
		return none, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stamp, k.value = now, value
	return value, nil
}

func (k *kept[T]) read(stamp string) (T, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.value, k.stamp == stamp && stamp != ""
}
