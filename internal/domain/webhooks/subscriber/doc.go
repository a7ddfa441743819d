// Package subscriber does the work of webhooks in the background: it matches events to endpoints (webhook.fanout) and
// makes single attempts (webhook.deliver).
//
// An attempt goes through these hands: lookup (is it still due? one statement for many), line (one at a time for each
// endpoint, paced, in this process), lease (across processes), events/webhook (one POST), ledger (attempt and settlement,
// written in groups, fenced by the lease's token).
package subscriber
