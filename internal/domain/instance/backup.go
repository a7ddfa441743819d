package instance

import (
	"context"
	"fmt"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// The bounds of the reminder: a house in use is backed up within its first week, and every two weeks from then on.
const (
	FirstBackup  = 7 * 24 * time.Hour
	BackupWithin = 14 * 24 * time.Hour
)

// Backups is what is known of backups.
type Backups struct {
	Last      *time.Time `json:"last,omitempty" jsonschema:"when gatehouse backup last finished"`
	Elsewhere bool       `json:"elsewhere" jsonschema:"the owner says that the database is backed up otherwise; no reminders"`
	Overdue   bool       `json:"overdue"`
	since     time.Time
}

// Backups tells when the last backup was made.
func (d *Domain) Backups(ctx context.Context) (Backups, error) {
	var b Backups
	var now time.Time
	err := d.DB.QueryRow(ctx, `select backup_at, backup_elsewhere, created_at, clock_timestamp() from public.instance`).Scan(&b.Last, &b.Elsewhere, &b.since, &now)
	if pg.NoRows(err) { // nothing has been served yet
		return Backups{}, nil
	}
	if err != nil {
		return b, fmt.Errorf("ask for the last backup: %w", err)
	}
	late := now.Sub(b.since) > FirstBackup
	if b.Last != nil {
		late = now.Sub(*b.Last) > BackupWithin
	}
	b.Overdue = late && !b.Elsewhere
	return b, nil
}

// BackedUp remembers that a backup was finished just now. A database that knows no instance yet remembers nothing.
func BackedUp(ctx context.Context, q pg.Querier) error {
	if _, err := q.Exec(ctx, `update public.instance set backup_at = clock_timestamp()`); err != nil {
		return fmt.Errorf("remember the backup: %w", err)
	}
	return nil
}

// BackedUpAt remembers a backup that this content came from, unless a later one is known.
func (d *Domain) BackedUpAt(ctx context.Context, at time.Time) error {
	if _, err := d.DB.Exec(ctx, `update public.instance set backup_at = greatest(backup_at, $1)`, at); err != nil {
		return fmt.Errorf("remember the backup: %w", err)
	}
	return nil
}

// RemindIn says whether the owner wants to be reminded of backups.
type RemindIn struct {
	Elsewhere bool `json:"elsewhere"`
}

// BackUpElsewhere switches the reminders off, for a database that is backed up by other means, or on again.
func (d *Domain) BackUpElsewhere(ctx context.Context, in RemindIn) error {
	if _, err := d.DB.Exec(ctx, `update public.instance set backup_elsewhere = $1`, in.Elsewhere); err != nil {
		return fmt.Errorf("remember that backups are made elsewhere: %w", err)
	}
	return nil
}
