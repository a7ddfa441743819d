package corpus

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

var (
	errNotFound   = op.Errorf(op.NotFound, "There is no such note.")
	errRawPrivate = op.Invalidf("published", "A raw note is private. Promote it to the wiki first.")
	errStale      = op.Errorf(op.Conflict, "The note was changed elsewhere since you read it. Nothing was saved.")
)

// refusal turns what the database's own rules refuse into words for the person
// who asked. slug says which field a colliding address came from.
func refusal(err error, slug bool) error {
	var pe *pgconn.PgError
	if !errors.As(err, &pe) {
		return err
	}
	switch pe.ConstraintName {
	case "notes_address":
		if slug {
			return op.Conflictf("slug", "another note has this address")
		}
		return op.Conflictf("title", "another note here has this title, or one that makes the same address: choose another title or address")
	case "notes_depth":
		return op.Invalidf("parent_id", "A note cannot be more than 32 levels deep.")
	case "notes_cycle":
		return op.Invalidf("parent_id", "A note cannot be below itself.")
	case "notes_parent_live":
		return op.Conflictf("parent_id", "the note above is in the trash")
	case "notes_parent_id_fkey":
		return op.Invalidf("parent_id", "There is no such note.")
	case "notes_raw_private":
		return errRawPrivate
	}
	return err
}
