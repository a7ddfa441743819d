package river

import (
	"context"
	"time"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivershared/baseservice"
	"github.com/riverqueue/river/rivershared/riverpilot"
	"github.com/riverqueue/river/rivertype"
)

// silentDriver inserts without NOTIFY: see poke.go for what wakes workers.
type silentDriver struct{ *riverpgxv5.Driver }

func (silentDriver) SupportsListenNotify() bool { return false }
func (silentDriver) SupportsListener() bool     { return false }

// fencedDriver takes notifications from the process's one LISTEN connection
// and lets pilot stand between the library and its tables.
type fencedDriver struct {
	*riverpgxv5.Driver
	bridge *bridge
	pilot  *pilot
}

func (d *fencedDriver) GetListener(*riverdriver.GetListenenerParams) riverdriver.Listener {
	return d.bridge
}
func (d *fencedDriver) PluginInit(*baseservice.Archetype) {}
func (d *fencedDriver) PluginPilot() riverpilot.Pilot     { return d.pilot }

// pilot keeps a process that may have been declared dead from claiming jobs
// and from finishing runs that others took over: the library's completion
// compares neither the attempt nor who made it.
type pilot struct {
	riverpilot.StandardPilot
	rt *Runtime
}

// JobGetAvailable claims nothing while this process does not hold its lock.
func (p *pilot) JobGetAvailable(ctx context.Context, exec riverdriver.Executor, state riverpilot.ProducerState, params *riverdriver.JobGetAvailableParams) (*riverdriver.JobGetAvailableResult, error) {
	if !p.rt.presence.alive() {
		return &riverdriver.JobGetAvailableResult{}, nil
	}
	return p.StandardPilot.JobGetAvailable(ctx, exec, state, params)
}

// JobSetStateIfRunningMany drops results of runs that are no longer ours. It
// asks only when there is doubt, so that the usual path costs nothing.
func (p *pilot) JobSetStateIfRunningMany(ctx context.Context, exec riverdriver.Executor, params *riverdriver.JobSetStateIfRunningManyParams) ([]*rivertype.JobRow, error) {
	if p.rt.presence.doubtful() {
		ours, err := p.ours(ctx, params.ID)
		if err != nil {
			return nil, err
		}
		params = keep(params, ours)
		if len(params.ID) == 0 {
			return nil, nil
		}
	}
	return p.StandardPilot.JobSetStateIfRunningMany(ctx, exec, params)
}

func (p *pilot) ours(ctx context.Context, ids []int64) (map[int64]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	rows, err := p.rt.db.Query(ctx, `
select id from river.river_job
where id = any($1) and state = 'running' and attempted_by[array_upper(attempted_by, 1)] = $2`, ids, p.rt.cfg.ProcessID)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	ours := map[int64]bool{}
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ours[id] = true
	}
	return ours, rows.Err()
}

func keep(in *riverdriver.JobSetStateIfRunningManyParams, ours map[int64]bool) *riverdriver.JobSetStateIfRunningManyParams {
	out := &riverdriver.JobSetStateIfRunningManyParams{Now: in.Now, Schema: in.Schema}
	for i, id := range in.ID {
		if !ours[id] {
			continue
		}
		out.ID = append(out.ID, id)
		out.Attempt = append(out.Attempt, in.Attempt[i])
		out.ErrData = append(out.ErrData, in.ErrData[i])
		out.FinalizedAt = append(out.FinalizedAt, in.FinalizedAt[i])
		out.MetadataDoMerge = append(out.MetadataDoMerge, in.MetadataDoMerge[i])
		out.MetadataUpdates = append(out.MetadataUpdates, in.MetadataUpdates[i])
		out.ScheduledAt = append(out.ScheduledAt, in.ScheduledAt[i])
		out.State = append(out.State, in.State[i])
	}
	return out
}
