package meili

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// defaultTaskDelay keeps a task unfinished for a moment, so that a client that does not await it is found out.
const defaultTaskDelay = 2 * time.Millisecond

// task is one asynchronous write. Tasks run one after another, each for the delay that was set when it was accepted.
type task struct {
	uid        int64
	indexUID   string
	kind       string
	status     string
	details    map[string]any
	failure    *apiError
	enqueuedAt time.Time
	startedAt  time.Time
	finishedAt time.Time
	delay      time.Duration
	failWith   *apiError // planned by a control route
	vanished   bool
	apply      func(*task) *apiError
}

// accept queues a write and gives the 202 body. Call it with the lock held.
func (s *Server) accept(uid, kind string, details map[string]any, apply func(*task) *apiError) (int, any, error) {
	t := &task{
		uid: int64(len(s.tasks)), indexUID: uid, kind: kind, status: "enqueued", details: details,
		enqueuedAt: s.now().UTC(), delay: s.faults.delay, apply: apply,
	}
	s.faults.plan(t)
	s.tasks = append(s.tasks, t)
	return http.StatusAccepted, map[string]any{
		"taskUid": t.uid, "indexUid": uid, "status": "enqueued", "type": kind, "enqueuedAt": t.enqueuedAt,
	}, nil
}

// advance runs every task whose time has come. Doing it at each request instead of in the background keeps the fake
// free of goroutines, and nobody can tell the difference from outside.
func (s *Server) advance() {
	now, free := s.now().UTC(), time.Time{}
	if s.done > 0 {
		free = s.tasks[s.done-1].finishedAt
	}
	for _, t := range s.tasks[s.done:] {
		start := t.enqueuedAt
		if free.After(start) {
			start = free
		}
		if now.Before(start) {
			return
		}
		t.status, t.startedAt = "processing", start
		if now.Before(start.Add(t.delay)) {
			return
		}
		t.finishedAt = start.Add(t.delay)
		free = t.finishedAt
		t.failure = t.failWith
		if t.failure == nil {
			t.failure = t.apply(t)
		}
		t.status = "succeeded"
		if t.failure != nil {
			t.status = "failed"
		}
		s.done++
	}
}

func (t *task) view() map[string]any {
	view := map[string]any{
		"uid": t.uid, "batchUid": nil, "indexUid": t.indexUID, "status": t.status, "type": t.kind, "canceledBy": nil,
		"details": t.details, "error": nil, "duration": nil, "enqueuedAt": t.enqueuedAt, "startedAt": nil, "finishedAt": nil,
	}
	if t.failure != nil {
		view["error"] = t.failure
	}
	if !t.startedAt.IsZero() {
		view["startedAt"], view["batchUid"] = t.startedAt, t.uid
	}
	if !t.finishedAt.IsZero() {
		view["finishedAt"] = t.finishedAt
		view["duration"] = fmt.Sprintf("PT%.6fS", t.finishedAt.Sub(t.startedAt).Seconds())
	}
	return view
}

func (s *Server) getTask(r *http.Request) (int, any, error) {
	uid, err := strconv.ParseInt(r.PathValue("task"), 10, 64)
	if err != nil || uid < 0 {
		return 0, nil, badRequest("invalid_task_uids", "Task uid is invalid. It should only contain numeric characters.")
	}
	if uid >= int64(len(s.tasks)) || s.tasks[uid].vanished {
		return 0, nil, &apiError{http.StatusNotFound, "task_not_found", "invalid_request", fmt.Sprintf("Task `%d` not found.", uid)}
	}
	return http.StatusOK, s.tasks[uid].view(), nil
}

// listTasks gives the newest first, with the filters a client of an index asks by.
func (s *Server) listTasks(r *http.Request) (int, any, error) {
	limit, err := queryInt(r, "limit", 20)
	if err != nil {
		return 0, nil, err
	}
	from, err := queryInt(r, "from", len(s.tasks)-1)
	if err != nil {
		return 0, nil, err
	}
	results, total, next := []any{}, 0, any(nil)
	for i := len(s.tasks) - 1; i >= 0; i-- {
		t := s.tasks[i]
		if t.vanished || !wanted(r, "statuses", t.status) || !wanted(r, "types", t.kind) ||
			!wanted(r, "indexUids", t.indexUID) || !wanted(r, "uids", strconv.FormatInt(t.uid, 10)) {
			continue
		}
		total++
		switch {
		case i > from:
		case len(results) < limit:
			results = append(results, t.view())
		case next == nil:
			next = t.uid
		}
	}
	return http.StatusOK, map[string]any{"results": results, "total": total, "limit": limit, "from": from, "next": next}, nil
}

func wanted(r *http.Request, name, value string) bool {
	list := r.URL.Query().Get(name)
	return list == "" || list == "*" || slices.Contains(strings.Split(list, ","), value)
}

func queryInt(r *http.Request, name string, otherwise int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, badRequest("bad_request", fmt.Sprintf("Invalid value in parameter `%s`: could not parse `%s` as a positive integer", name, text))
	}
	return n, nil
}
