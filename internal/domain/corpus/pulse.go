package corpus

import (
	"context"
	"fmt"
)

// TopicImports is what pages that show imports listen to.
const TopicImports = "imports"

// Pulse describes the newest imports in a short text: when it changes, pages that show them are out of date.
func (d *Domain) Pulse(ctx context.Context) (map[string]string, error) {
	var text string
	err := d.db.QueryRow(ctx, `
select coalesce(string_agg(concat_ws(' ', id, state, total, done), ';' order by created_at, id), '')
from (select id, state, total, done, created_at from public.imports order by created_at desc, id desc limit 50) i`).Scan(&text)
	if err != nil {
		return nil, fmt.Errorf("feel the pulse of imports: %w", err)
	}
	return map[string]string{TopicImports: text}, nil
}
