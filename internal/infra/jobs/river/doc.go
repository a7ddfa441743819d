// Package river is the implementation of the ports of package jobs on River
// v0.51.2, and the only one that knows the library and its tables.
//
// What it adds to the library, each point for a measured reason:
//
//   - Retries are decided here from the kind's policy. Rows are inserted with
//     the largest max_attempts and the adapter alone ends a cycle.
//   - Enqueue sends no NOTIFY inside the caller's transaction, because that
//     takes a lock of the whole cluster at commit (measured: 61 % of the commit
//     rate of 50 writers). After the commit the workers of this process are
//     poked directly and those of others by one throttled NOTIFY.
//   - A process proves that it lives by a heartbeat and by a session lock on a
//     dedicated connection; the running jobs of a dead one are taken over at
//     once (presence.go, sweep.go).
//   - The end of an awaited kind is written at once and heard by a trigger
//     (complete.go, wait.go); all others are written in batches.
//   - Every attempt is kept in a bounded ledger in the row's metadata
//     (ledger.go), because the library records failures only.
//   - Periodics live in the table periodic_runs (periodic.go).
package river
