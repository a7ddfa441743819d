// Package events is the transactional outbox and the bus on top of it.
//
// An event is a fact, one row, written in the transaction of the change it
// tells about: by a row trigger, or by Recorder. The relay turns committed
// events into jobs, one for each subscription, in the transaction that marks
// them as fanned out: exactly once. Delivery to a subscription is at least
// once; order between events is not promised.
//
// Events are thin: type, subject, ids, flags. Never a body, an address of a
// person or a secret.
package events
