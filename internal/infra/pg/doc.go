// Package pg is the one door to PostgreSQL: the pool, transactions with
// after-commit hooks, a LISTEN connection that mends itself, the migrator and
// the few SQLSTATE questions that callers decide on.
//
// InTx is the only place in the program where a transaction begins (gate
// check-tx-only-via-pg). The transaction is always a parameter, never a
// context value; stores have a With(tx) that returns a bound copy.
package pg
