package instance

import (
	"context"
	"fmt"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
)

// Page is where the owner decides about a hold, and sees to backups and disks.
const Page = "/admin/instance"

// Alerts are a hold, an overdue backup, a forgotten transaction, and a disk that is nearly full.
func (d *Domain) Alerts(ctx context.Context) ([]domain.Alert, error) {
	var out []domain.Alert
	h, err := d.Current(ctx)
	if err != nil {
		return nil, err
	}
	if h != nil {
		out = append(out, h.alert(ctx))
	}
	b, err := d.Backups(ctx)
	if err != nil {
		return nil, err
	}
	if b.Overdue {
		out = append(out, b.alert(ctx))
	}
	old, err := events.OldSnapshots(ctx, d.DB, d.Forgotten)
	if err != nil {
		return nil, err
	}
	if len(old) > 0 {
		out = append(out, forgotten(old[0]))
	}
	// A disk that cannot be asked is no reason to show nothing at all.
	spaces, err := d.Spaces()
	if err != nil {
		return append(out, domain.Alert{Code: "disk_unknown", Title: "Free space is not known", Evidence: err.Error() + ".", Next: "Look at the disk yourself.", Link: Page}), nil
	}
	for _, s := range spaces {
		if s.Low {
			out = append(out, domain.Alert{Code: "disk_low", Title: "A disk is nearly full", Link: Page,
				Evidence: s.String() + " (" + s.Name + ").", Next: "Make room or enlarge the disk. On a full disk saving fails, and what you typed is kept on the page."})
		}
	}
	return out, nil
}

func forgotten(s events.OldSnapshot) domain.Alert {
	who := "A session"
	if s.Application != "" {
		who = fmt.Sprintf("A session of %q", s.Application)
	}
	return domain.Alert{Code: "transaction_forgotten", Title: "A transaction was left open in the database", Link: Page,
		Evidence: fmt.Sprintf("%s, process %d of PostgreSQL, has been in one transaction for %d min (%s).", who, s.PID, int(s.Age/time.Minute), s.State),
		Next:     fmt.Sprintf("Rows that were deleted or changed meanwhile cannot be cleared away, and tables grow. End it where it was begun, or in psql: select pg_terminate_backend(%d).", s.PID)}
}

func (h *Hold) alert(ctx context.Context) domain.Alert {
	return domain.Alert{Code: "hold", Title: "Nothing is sent: sends are on hold", Stuck: true, Link: Page,
		Evidence: h.Reason + " Sends are kept back since " + domain.Moment(ctx, h.SetAt) + ". " + h.Waiting.sentence(ctx),
		Next:     "See what waits, and choose whether it is sent or dropped."}
}

// sentence says what waits.
func (w Waiting) sentence(ctx context.Context) string {
	n := w.Brought + w.Since
	switch {
	case n == 0:
		return "No delivery waits."
	case w.Oldest == nil:
		return fmt.Sprintf("%d deliveries wait.", n)
	case n == 1:
		return "1 delivery waits, since " + domain.Moment(ctx, *w.Oldest) + "."
	}
	return fmt.Sprintf("%d deliveries wait, the oldest since %s.", n, domain.Moment(ctx, *w.Oldest))
}

func (b Backups) alert(ctx context.Context) domain.Alert {
	a := domain.Alert{Code: "backup_overdue", Title: "There is no recent backup", Link: Page,
		Next: "On the server, run gatehouse backup with a directory that does not exist yet; better, let a timer do it. If the database is backed up otherwise, say so."}
	a.Evidence = "This site has been in use since " + domain.Moment(ctx, b.since) + ", and no backup was made."
	if b.Last != nil {
		a.Evidence = "The last backup is of " + domain.Moment(ctx, *b.Last) + "."
	}
	return a
}
