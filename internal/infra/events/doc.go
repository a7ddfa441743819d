// Package events is the transactional outbox and the bus on top of it.
//
// An event is a fact, one row, written in the transaction of the change it
// tells about: by a row trigger, or by Recorder. The relay turns committed
// events into jobs, one for each subscription, in the transaction that marks
// them as fanned out: exactly once. Delivery to a subscription is at least
// once; order between events is not promised.
//
// A row is claimed by its own state, never by a cursor over ids or times, so a
// transaction that commits late is relayed like any other. Relays of several
// processes share the work (SKIP LOCKED); only those with the newest list of
// subscriptions take part. What wakes a relay is a Bell in the process, a
// throttled NOTIFY between processes and a poll each second; none of them is
// needed for an event to arrive.
//
// Events are thin: type, subject, ids, flags. Never a body, an address of a
// person or a secret.
package events
