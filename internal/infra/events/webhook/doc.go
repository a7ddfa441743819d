// Package webhook speaks Standard Webhooks 1.0: it builds the body of an event, signs it, makes one POST, and says what the
// answer means. It decides on no retry and knows no domain: who calls it holds the lease, the log and the policy.
package webhook
