package meili

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/meilisearch/meilisearch-go"
)

// The first and the longest pause between two looks at a task. A small write
// is done in some milliseconds.
const (
	firstPause   = 2 * time.Millisecond
	longestPause = 100 * time.Millisecond
)

// request makes one call under its own deadline and puts its error into words.
func (e *Engine) request(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, e.call)
	defer cancel()
	err := faultOf(do(ctx), e.url)
	if isCode(err, codeBadSearchFilter) || isCode(err, meilisearch.APIErrCodeInvalidDocumentFilter) {
		e.settled.Store(0) // restored from a time with other settings: look at them before the next write
	}
	return err
}

// change asks for a write and returns when it is done: 202 is not success.
func (e *Engine) change(ctx context.Context, ask func(context.Context) (*meilisearch.TaskInfo, error)) error {
	var accepted *meilisearch.TaskInfo
	err := e.request(ctx, func(ctx context.Context) (err error) {
		accepted, err = ask(ctx)
		return err
	})
	if err != nil {
		return err
	}
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		done, err := e.ended(ctx, accepted)
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("task %d, accepted by Meilisearch, was not done in time: %w", accepted.TaskUID, ctx.Err())
		case <-time.After(pause):
		}
	}
}

// ended looks at a task once.
func (e *Engine) ended(ctx context.Context, accepted *meilisearch.TaskInfo) (bool, error) {
	var task *meilisearch.Task
	err := e.request(ctx, func(ctx context.Context) (err error) {
		task, err = e.server.GetTask(ctx, accepted.TaskUID)
		return err
	})
	// Numbers start over after a restore: a task of that number that was asked
	// for at another time is somebody else's.
	if isCode(err, meilisearch.APIErrCodeTaskNotFound) || err == nil && !task.EnqueuedAt.Equal(accepted.EnqueuedAt) {
		return false, fmt.Errorf("task %d, accepted by Meilisearch, is unknown to it now: was it wiped or restored?", accepted.TaskUID)
	}
	if err != nil {
		return false, fmt.Errorf("await task %d: %w", accepted.TaskUID, err)
	}
	switch task.Status {
	case meilisearch.TaskStatusSucceeded:
		return true, nil
	case meilisearch.TaskStatusFailed:
		return false, &fault{code: task.Error.Code, says: fmt.Sprintf("Meilisearch accepted task %d, which then failed: %s: %s",
			task.UID, task.Error.Code, short(task.Error.Message))}
	case meilisearch.TaskStatusCanceled:
		return false, errors.New("somebody cancelled the task in Meilisearch")
	}
	return false, nil
}
