// Package jobs holds the ports of the durable queue and everything about it
// that is data: kinds, policies, queues, periodics, failure classes.
//
// Handlers only classify what happened (nil, Snooze, Discard, Hold, any other
// error); this layer alone retries. Strings and JSON cross the ports and
// nothing else, so that the implementation (package jobs/river) can be
// replaced without touching a domain. Package jobs/jobstest is the contract an
// implementation must pass.
package jobs
