package tasks

import (
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// Module is what this domain hands over to be run.
func (d *Domain) Module() domain.Module {
	return domain.Module{
		Name:      "tasks",
		Ops:       append(d.taskOps(), d.eventOps()...),
		Periodics: d.periodics(),
		Kinds: []jobs.Kind{{
			Name:        BulkKind,
			Title:       "Retry or cancel many",
			Description: "Works through everything that matched when the owner asked. Cancel it to stop.",
			Queue:       "bulk",
			Policy:      jobs.Policy{Attempts: 5, Backoff: jobs.DefaultBackoff, Timeout: 30 * time.Minute},
			Handler:     d.runBulk,
			Subject:     bulkSubject,
		}},
	}
}

func (d *Domain) taskOps() []op.Op {
	return []op.Op{
		op.New("tasks.overview", "Count tasks", "Counts tasks by kind and state, and tells the load of every queue. Counts are bounded.", op.Read, d.Overview),
		op.New("tasks.health", "Are any tasks stuck?", "Says whether anything is stuck or needs the owner: a verdict, reasons with evidence, and the next step for each.", op.Read, d.Health),
		op.New("tasks.list", "List tasks", "Pages through tasks, newest first, by state, kind, arguments and error.", op.Read, d.List),
		op.New("tasks.get", "Read a task", "Reads one task with its arguments, its cause and its attempts, errors and reports included.", op.Read, d.opGet),
		op.New("tasks.retry", "Retry a task", "Starts a new cycle of a task now, if it still is as you saw it.", op.Write, d.Retry),
		op.Repeatable(op.WithPlan(op.New("tasks.cancel", "Cancel a task", "Stops a waiting task for good and asks a running one to stop, if it still is as you saw it.", op.Destructive, d.Cancel), d.planCancel)),
		op.WithPlan(op.New("tasks.retry_matching", "Retry all that match", "Retries every task that matches, as a task of its own that can be stopped by cancelling it.", op.Destructive, d.RetryMatching), d.planMatching("Retry", retried())),
		op.WithPlan(op.New("tasks.cancel_matching", "Cancel all that match", "Cancels every task that matches, as a task of its own that can be stopped by cancelling it.", op.Destructive, d.CancelMatching), d.planMatching("Cancel", cancelled())),
		op.New("tasks.periodic", "List periodics", "Lists what comes back by itself, with its schedule and history.", op.Read, d.Periodic),
		op.New("tasks.run_periodic", "Run a periodic", "Runs a periodic once, now, and leaves its schedule alone.", op.Write, d.RunPeriodic),
		op.Repeatable(op.New("tasks.pause_periodic", "Pause a periodic", "Stops or resumes the schedule of a periodic.", op.Write, d.PausePeriodic)),
	}
}

func (d *Domain) eventOps() []op.Op {
	return []op.Op{
		op.New("events.list", "List events", "Pages through the stream of events, newest first, by type, state and subject.", op.Read, d.ListEvents),
		op.New("events.get", "Read an event", "Reads one event and how each subscription's task fared.", op.Read, d.GetEvent),
		op.New("events.requeue", "Requeue an event", "Gives a poisoned event a fresh start.", op.Write, d.RequeueEvent),
		op.New("events.types", "List event types", "Lists every declared type of event with an example.", op.Read, d.EventTypes),
	}
}
