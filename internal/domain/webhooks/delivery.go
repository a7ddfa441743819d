package webhooks

import "time"

// DeliveryState is what became of a delivery.
type DeliveryState string

// The states of a delivery.
const (
	Waiting   DeliveryState = "waiting"   // a task will send it
	Delivered DeliveryState = "delivered" // the receiver said 2xx
	Failed    DeliveryState = "failed"    // given up, until somebody sends it again
	Parked    DeliveryState = "parked"    // its endpoint is paused or off
	Dropped   DeliveryState = "dropped"   // parked, then let go
	Cancelled DeliveryState = "cancelled" // its endpoint was deleted, or its task cancelled
)

// DeliveryStates lists every state in the order the panel shows them.
func DeliveryStates() []DeliveryState {
	return []DeliveryState{Waiting, Delivered, Failed, Parked, Dropped, Cancelled}
}

// Trigger is what led to an attempt.
type Trigger string

// The triggers.
const (
	Automatic  Trigger = "automatic"
	Manual     Trigger = "manual"   // somebody asked for this delivery
	Test       Trigger = "test"     // a test of the endpoint
	ByRecovery Trigger = "recovery" // somebody asked for a window of time
)

// How long the log is kept after a delivery has settled, and how long parked deliveries wait.
const (
	LogKept    = 14 * 24 * time.Hour
	ParkedKept = 30 * 24 * time.Hour
)
