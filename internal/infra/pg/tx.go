package pg

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Tx is a running transaction. AfterCommit is the only addition to pgx's own.
type Tx struct {
	pgx.Tx
	hooks *[]func()
}

// AfterCommit runs f once the outermost transaction has committed, and never
// if it rolls back. f must not block: it runs on the committing goroutine.
func (t Tx) AfterCommit(f func()) { *t.hooks = append(*t.hooks, f) }

// Bind wraps a transaction that somebody else began (River's completion, a
// test's rollback transaction). The returned func runs the hooks; call it
// after the commit.
func Bind(tx pgx.Tx) (Tx, func()) {
	hooks := &[]func(){}
	return Tx{Tx: tx, hooks: hooks}, func() { runHooks(*hooks) }
}

// InTx runs fn in a transaction. It commits when fn returns nil, rolls back
// when fn returns an error or panics (the panic goes on), and then runs the
// after-commit hooks. ErrUnsure in the error says that the commit was not
// answered: it may have happened.
//
// The cause carried by ctx (see WithCause) is set for the transaction, so that
// rows born in triggers know it too. A "cached plan must not change result
// type" error, which a newer process's migration provokes once per statement
// and connection, makes InTx run fn a second time.
func InTx(ctx context.Context, db *DB, fn func(tx Tx) error) error {
	err := inTx(ctx, db, fn)
	if isStalePlan(err) {
		err = inTx(ctx, db, fn)
	}
	return err
}

func inTx(ctx context.Context, db *DB, fn func(tx Tx) error) (err error) {
	ptx, err := db.Pool.BeginTx(ctx, pgx.TxOptions{BeginQuery: beginQuery(ctx)})
	if err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	tx, done := Bind(ptx)
	committed := false
	defer func() {
		if committed {
			return
		}
		// The caller's context may be what ended fn; the rollback must not be.
		if rerr := ptx.Rollback(context.WithoutCancel(ctx)); rerr != nil && !errors.Is(rerr, pgx.ErrTxClosed) {
			err = errors.Join(err, fmt.Errorf("roll back: %w", rerr))
		}
	}()
	if err := fn(tx); err != nil {
		return err
	}
	if err := ptx.Commit(ctx); err != nil {
		if unanswered(err) {
			return fmt.Errorf("commit: %w: %w", ErrUnsure, err)
		}
		return fmt.Errorf("commit: %w", err)
	}
	committed = true
	done()
	return nil
}

// unanswered reports whether a commit was sent and the server's answer did not come.
func unanswered(err error) bool {
	return State(err) == "" && !pgconn.SafeToRetry(err) && !errors.Is(err, pgx.ErrTxClosed) && !errors.Is(err, pgx.ErrTxCommitRollback)
}

// Nested runs fn in a savepoint of tx: its error undoes what fn did and leaves
// tx usable. After-commit hooks of fn are kept only if fn succeeded.
func Nested(ctx context.Context, tx Tx, fn func(tx Tx) error) (err error) {
	sp, err := tx.Begin(ctx)
	if err != nil {
		return fmt.Errorf("set savepoint: %w", err)
	}
	hooks := &[]func(){}
	released := false
	defer func() {
		if !released {
			if rerr := sp.Rollback(context.WithoutCancel(ctx)); rerr != nil && !errors.Is(rerr, pgx.ErrTxClosed) {
				err = errors.Join(err, fmt.Errorf("roll back to savepoint: %w", rerr))
			}
		}
	}()
	if err := fn(Tx{Tx: sp, hooks: hooks}); err != nil {
		return err
	}
	if err := sp.Commit(ctx); err != nil {
		return fmt.Errorf("release savepoint: %w", err)
	}
	released = true
	*tx.hooks = append(*tx.hooks, *hooks...)
	return nil
}

func runHooks(hooks []func()) {
	for _, h := range hooks {
		h()
	}
}
