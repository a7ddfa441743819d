package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// pollEvery is how often a lock held by another process, or a starting PostgreSQL, is looked at again. Neither has a
// signal to wait for; a start takes some 50 ms, so this is what a person would not notice.
const pollEvery = 5 * time.Millisecond

// fileLock is a flock on a file. The kernel releases it when the process dies, however it dies; Go opens files
// close-on-exec, so PostgreSQL does not inherit it.
type fileLock struct{ file *os.File }

func openLock(path string) (fileLock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	return fileLock{f}, err
}

// try takes the lock, shared or exclusive, if nobody stands in the way.
func (l fileLock) try(exclusive bool) (bool, error) {
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	for {
		err := syscall.Flock(int(l.file.Fd()), how|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, fmt.Errorf("lock %s: %w", l.file.Name(), err)
		}
	}
}

// take waits for the lock until ctx ends.
func (l fileLock) take(ctx context.Context, exclusive bool) error {
	for {
		ok, err := l.try(exclusive)
		if ok || err != nil {
			return err
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("wait for another process that holds %s: %w", l.file.Name(), err)
		}
	}
}

// release lets go, in so many words: a program that is being started holds a copy of the descriptor until its exec, and with
// it the lock if only ours were closed.
func (l fileLock) release() {
	_ = syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN) // of a file that is closed already nothing is held
	_ = l.file.Close()
}

// pause waits one poll interval, or returns ctx's error.
func pause(ctx context.Context) error { return wait(ctx, pollEvery) }
