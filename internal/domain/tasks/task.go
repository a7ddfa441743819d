package tasks

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// Reference names one task and what the caller saw of it. If the task has
// moved on meanwhile, nothing is changed and the answer is a conflict.
type Reference struct {
	ID      jobs.ID    `json:"id" jsonschema:"number of the task"`
	State   jobs.State `json:"expected_state" jsonschema:"the state you saw: pending, running, retryable, completed, discarded or cancelled"`
	Attempt int        `json:"expected_attempt,omitempty" jsonschema:"the attempt you saw; 0 or left out matches any"`
}

func (r Reference) check() error {
	if r.ID <= 0 {
		return op.Invalidf("id", "Give the number of a task.")
	}
	return checkState("expected_state", r.State)
}

func checkState(field string, s jobs.State) error {
	for _, known := range jobs.States() {
		if s == known {
			return nil
		}
	}
	return op.Invalidf(field, "%q is not a state; allowed are %s", string(s), stateList())
}

func stateList() string {
	var words []string
	for _, s := range jobs.States() {
		words = append(words, string(s))
	}
	return strings.Join(words, ", ")
}

// explain gives the queue's errors words and a code for the caller.
func explain(err error, id jobs.ID) error {
	n := strconv.FormatInt(int64(id), 10)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jobs.ErrConflict):
		return op.Wrap(err, op.Conflict, "Task %s has changed since you looked. Nothing was done; look again, then decide.", n)
	case errors.Is(err, jobs.ErrTwin):
		return op.Wrap(err, op.Conflict, "A task with the same arguments is already waiting or running, so task %s was left alone.", n)
	case errors.Is(err, jobs.ErrRetriedElsewhere):
		return op.Wrap(err, op.Conflict, "Task %s is retried from the section it belongs to, where its own rules apply.", n)
	case errors.Is(err, jobs.ErrNotFound):
		return op.Wrap(err, op.NotFound, "There is no task %s.", n)
	}
	return err
}

// CanRetry reports whether a retry by hand makes sense in this state.
func CanRetry(s State) bool {
	return s == jobs.Retryable || s == jobs.Discarded || s == jobs.Cancelled
}

// CanCancel reports whether there is anything left to cancel.
func CanCancel(s State) bool { return !s.Final() }

// Query is what a person typed into the search of the task list.
type Query struct {
	States []jobs.State      `json:"states,omitempty" jsonschema:"keep tasks in these states"`
	Kind   string            `json:"kind,omitempty" jsonschema:"keep tasks of this kind"`
	ID     jobs.ID           `json:"id,omitempty" jsonschema:"keep the task with this number"`
	Args   map[string]string `json:"args,omitempty" jsonschema:"keep tasks whose top-level arguments have these values, compared as text"`
	Error  string            `json:"error,omitempty" jsonschema:"keep tasks with an error that contains this text"`
	Cursor string            `json:"cursor,omitempty" jsonschema:"continue after the page that returned it"`
	Limit  int               `json:"limit,omitempty" jsonschema:"rows per page, 1 to 100; 0 means 50"`
	After  ID                `json:"after_id,omitempty" jsonschema:"keep only tasks with a higher number"`
}

func (q Query) filter() (jobs.Filter, error) {
	for _, s := range q.States {
		if err := checkState("states", s); err != nil {
			return jobs.Filter{}, err
		}
	}
	if q.Limit < 0 || q.Limit > 100 {
		return jobs.Filter{}, op.Invalidf("limit", "Choose 1 to 100.")
	}
	if len(q.Error) > 200 || !storable(q.Error) {
		return jobs.Filter{}, op.Invalidf("error", "At most 200 bytes of text are taken.")
	}
	if len(q.Kind) > 200 || !storable(q.Kind) {
		return jobs.Filter{}, op.Invalidf("kind", "Give the name of a kind.")
	}
	for name, value := range q.Args {
		if !storable(name) || !storable(value) || len(name)+len(value) > 500 {
			return jobs.Filter{}, op.Invalidf("args", "Names and values of at most 500 bytes of text are taken.")
		}
	}
	return jobs.Filter{States: q.States, Kind: q.Kind, ID: q.ID, Args: q.Args, Error: q.Error, Cursor: q.Cursor, Limit: q.Limit, AfterID: q.After}, nil
}

// storable reports whether PostgreSQL takes s as text at all.
func storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// ParseSearch reads the search line of the panel: `id:`, `kind:`, `state:`
// and `args.x:y` words; everything else is looked for in errors.
func ParseSearch(text string) (Query, error) {
	var q Query
	var free []string
	for _, word := range strings.Fields(text) {
		name, value, found := strings.Cut(word, ":")
		switch {
		case found && name == "id":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil || n <= 0 {
				return q, op.Invalidf("q", "The word id: takes the number of a task, not %q.", value)
			}
			q.ID = jobs.ID(n)
		case found && name == "kind":
			q.Kind = value
		case found && name == "state":
			if err := checkState("q", jobs.State(value)); err != nil {
				return q, err
			}
			q.States = append(q.States, jobs.State(value))
		case found && strings.HasPrefix(name, "args.") && len(name) > len("args."):
			if q.Args == nil {
				q.Args = map[string]string{}
			}
			q.Args[strings.TrimPrefix(name, "args.")] = value
		default:
			free = append(free, word)
		}
	}
	q.Error = strings.Join(free, " ")
	_, err := q.filter()
	return q, err
}
