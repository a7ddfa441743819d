package overview

import (
	"context"

	"github.com/gatehouse-hq/gatehouse/internal/domain/instance"
)

// keeping is what the content rests on: the last backup, and room on the disk.
type keeping struct {
	backups instance.Backups
	spaces  []instance.Space
}

func (s *Section) keeping(ctx context.Context) (k keeping, err error) {
	if k.backups, err = s.house.Backups(ctx); err != nil {
		return k, err
	}
	k.spaces, err = s.house.Spaces()
	return k, err
}

func backupNote(b instance.Backups) string {
	switch {
	case b.Overdue:
		return "it is time for one"
	case b.Elsewhere:
		return "made otherwise"
	}
	return ""
}
