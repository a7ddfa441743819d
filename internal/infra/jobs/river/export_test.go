package river

import (
	"context"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// Statements are the panel's counts over these kinds and its list of f, for
// tests that look at what they read. (A test inside the package cannot have a
// database: pgtest imports it.)
func Statements(ctx context.Context, tx pg.Tx, kinds []string, f jobs.Filter) (counts, list string, countArgs, listArgs []any, err error) {
	var ks, shown, raws []string
	var least, most []int
	for _, k := range kinds {
		for _, s := range jobs.States() {
			for _, b := range bands([]jobs.State{s}) {
				ks, shown, raws, least, most = append(ks, k), append(shown, string(s)), append(raws, b.raw), append(least, b.min), append(most, b.max)
			}
		}
	}
	q, err := (&Runtime{}).listQuery(ctx, tx, f, 1<<62, defaultPage+1)
	if err != nil {
		return "", "", nil, nil, err
	}
	return countSQL, q.sql, []any{ks, shown, raws, least, most, countLimit + 1}, q.args, nil
}
