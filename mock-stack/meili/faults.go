package meili

import (
	"fmt"
	"net/http"
	"time"
)

// Outage is a way of not being there.
type Outage string

// The ways of not being there. Refuse needs the listener of Start; behind another listener it closes each connection.
const (
	OutageNone   Outage = "none"
	OutageRefuse Outage = "refuse"
	Outage503    Outage = "503"
	OutageHang   Outage = "hang"
)

// TaskFaults says what happens to the tasks accepted from now on.
type TaskFaults struct {
	// Delay is how long each task is processed.
	Delay time.Duration
	// Fail makes that many tasks fail after their 202 with FailCode (default no_space_left_on_device).
	Fail     int
	FailCode string
	// Vanish makes that many tasks answer 404 and do nothing.
	Vanish int
}

type faults struct {
	outage   Outage
	delay    time.Duration
	fail     int
	failCode string
	vanish   int
}

// plan marks a newly accepted task with the faults that are due.
func (f *faults) plan(t *task) {
	switch {
	case f.fail > 0:
		f.fail--
		t.failWith = plannedFailure(f.failCode)
	case f.vanish > 0:
		f.vanish--
		t.vanished, t.apply = true, func(*task) *apiError { return nil }
	}
}

func plannedFailure(code string) *apiError {
	if code == "no_space_left_on_device" {
		return &apiError{http.StatusUnprocessableEntity, code, "system",
			"There is no more space left on the device. Consider increasing the size of the disk/partition."}
	}
	return &apiError{http.StatusInternalServerError, code, "internal", "An internal error has occurred. `planned failure`."}
}

// SetTaskFaults replaces the faults planned for tasks.
func (s *Server) SetTaskFaults(planned TaskFaults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.delay, s.faults.fail, s.faults.failCode, s.faults.vanish = planned.Delay, planned.Fail, planned.FailCode, planned.Vanish
	if s.faults.failCode == "" {
		s.faults.failCode = "no_space_left_on_device"
	}
}

// SetOutage starts or ends an outage; hanging requests are let go.
func (s *Server) SetOutage(outage Outage) error {
	switch outage {
	case OutageNone, OutageRefuse, Outage503, OutageHang:
	default:
		return fmt.Errorf("outage %q is not none, refuse, 503 or hang", outage)
	}
	s.mu.Lock()
	s.faults.outage = outage
	close(s.changed)
	s.changed = make(chan struct{})
	tell := s.onOutage
	s.mu.Unlock()
	if tell == nil {
		return nil
	}
	return tell(outage)
}

// Wipe empties the volume: no index, no task.
func (s *Server) Wipe() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store, s.tasks, s.done = store{}, nil, 0
}

// snapshot is the engine's disk at one moment.
type snapshot struct {
	store store
	tasks []*task
}

// Snapshot keeps the present state under a name. Tasks still unfinished are finished first.
func (s *Server) Snapshot(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finishAll()
	s.snapshots[name] = snapshot{store: s.store.clone(), tasks: append([]*task(nil), s.tasks...)}
}

// Restore brings a kept state back: later documents are gone, deleted ones are there again, and task numbers start over
// from there.
func (s *Server) Restore(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, ok := s.snapshots[name]
	if !ok {
		return fmt.Errorf("no snapshot %q", name)
	}
	s.store, s.tasks = kept.store.clone(), append([]*task(nil), kept.tasks...)
	s.done = len(s.tasks)
	return nil
}

// finishAll runs whatever is queued without its delay.
func (s *Server) finishAll() {
	for _, t := range s.tasks[s.done:] {
		t.delay = 0
	}
	s.advance()
}

// Requests returns how often each "METHOD /path" was asked, outages included.
func (s *Server) Requests() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := make(map[string]int, len(s.requests))
	for route, n := range s.requests {
		counts[route] = n
	}
	return counts
}

// Documents returns an index's documents by id, all queued tasks done; nil if there is no such index.
func (s *Server) Documents(uid string) map[string]map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finishAll()
	ix, ok := s.store[uid]
	if !ok {
		return nil
	}
	return ix.clone().documents
}
