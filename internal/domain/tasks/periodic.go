package tasks

import (
	"context"
	"errors"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// PeriodicOut lists what comes back by itself.
type PeriodicOut struct {
	Periodics []Periodic `json:"periodics"`
}

// Periodic lists periodics with their history.
func (d *Domain) Periodic(ctx context.Context, _ None) (PeriodicOut, error) {
	p, err := d.Jobs.Periodic(ctx)
	for i := range p {
		p[i].History = orEmpty(p[i].History)
	}
	return PeriodicOut{Periodics: orEmpty(p)}, err
}

// PeriodicIn names a periodic.
type PeriodicIn struct {
	Name string `json:"name" jsonschema:"name of the periodic"`
}

// RunOut says which task does the work.
type RunOut struct {
	Task ID `json:"id"`
}

// RunPeriodic runs a periodic once, now, and leaves its schedule alone.
func (d *Domain) RunPeriodic(ctx context.Context, in PeriodicIn) (RunOut, error) {
	id, err := d.Jobs.RunPeriodic(ctx, in.Name)
	return RunOut{Task: id}, explainPeriodic(err, in.Name)
}

// PauseIn stops or resumes a schedule.
type PauseIn struct {
	Name   string `json:"name" jsonschema:"name of the periodic"`
	Paused bool   `json:"paused" jsonschema:"true stops the schedule, false resumes it"`
}

// PausePeriodic stops or resumes the schedule of a periodic. Running it by
// hand still works.
func (d *Domain) PausePeriodic(ctx context.Context, in PauseIn) (PauseIn, error) {
	return in, explainPeriodic(d.Jobs.PausePeriodic(ctx, in.Name, in.Paused), in.Name)
}

func explainPeriodic(err error, name string) error {
	switch {
	case errors.Is(err, jobs.ErrNotFound):
		return op.Wrap(err, op.NotFound, "There is no periodic %q.", name)
	case errors.Is(err, jobs.ErrTwin), errors.Is(err, jobs.ErrConflict):
		return op.Wrap(err, op.Conflict, "%s is already waiting or running, so it was not started a second time.", name)
	}
	return err
}
