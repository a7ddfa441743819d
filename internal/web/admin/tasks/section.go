// Package tasks shows what the queue holds: the list, one task, and the pages
// that confirm an action on many.
package tasks

import (
	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

const home = "/admin/tasks"

// Section holds the handlers.
type Section struct {
	tasks *tasks.Domain
	plans *op.Plans
	edge  *edge.Edge
	live  string
}

// New returns the section; live is the address of the event stream, "" for
// still pages.
func New(d *tasks.Domain, p *op.Plans, e *edge.Edge, live string) *Section {
	return &Section{tasks: d, plans: p, edge: e, live: live}
}

// Messages are what the section's actions say when they are done.
func Messages() map[string]edge.Message {
	return map[string]edge.Message{
		"task-retried":        {Tone: ui.Done, One: "The task will be tried again now.", Many: "# tasks will be tried again now."},
		"task-retried-some":   {Tone: ui.Warn, One: "The rest had changed meanwhile and was left alone; 1 task will be tried again now.", Many: "The rest had changed meanwhile and was left alone; # tasks will be tried again now."},
		"task-cancelled":      {Tone: ui.Done, One: "The task is cancelled; if it was running, it was asked to stop.", Many: "# tasks are cancelled; those that were running were asked to stop."},
		"task-cancelled-some": {Tone: ui.Warn, One: "The rest had changed meanwhile and was left alone; 1 task is cancelled.", Many: "The rest had changed meanwhile and was left alone; # tasks are cancelled."},
		"task-untouched":      {Tone: ui.Warn, One: "The task had changed meanwhile. Nothing was done: look again, then decide.", Many: "All # tasks had changed meanwhile. Nothing was done: look again, then decide."},
		"task-none-picked":    {Tone: ui.Warn, One: "No task was selected. Nothing was done."},
		"task-bulk-started":   {Tone: ui.Told, One: "This task works through all that matched. Cancel it to stop."},
	}
}
