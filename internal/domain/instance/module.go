package instance

import (
	"context"

	"github.com/gatehouse-hq/gatehouse/internal/domain"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// Module is what this domain hands over to be run.
func (d *Domain) Module() domain.Module {
	return domain.Module{Name: "instance", Ops: []op.Op{
		op.WithPlan(op.New("instance.hold", "Keep sends back", "Keeps everything from leaving this site until the owner releases it. Nothing is lost: what happens meanwhile waits.",
			op.Destructive, d.Hold), planHold),
		op.WithPlan(op.New("instance.release", "Release the hold", "Ends the hold on a restored or copied database: what came with the copy is sent or dropped. A drop cannot be taken back.",
			op.Destructive, d.Release), d.planRelease),
	}}
}

// planHold says what would stop.
func planHold(_ context.Context, in HoldIn) (op.Preview, HoldIn, error) {
	return op.Preview{Summary: "Keep back every delivery from now on, until the hold is released."}, in, nil
}
