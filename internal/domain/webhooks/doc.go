// Package webhooks owns what other systems are told: endpoints with their secrets and headers, what each of them is owed
// (one delivery for each endpoint and event), the log of attempts, and the ways to send again.
//
// Rules and the owner's actions are here; matching, sending and writing results are in package subscriber. A delivery is
// sent at least once, always under the event's id; order is not promised.
package webhooks
