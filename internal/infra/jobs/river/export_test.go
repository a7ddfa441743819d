package river

import "github.com/gatehouse-hq/gatehouse/internal/infra/jobs"

// Steer is what the statements below need before them.
const Steer = steer

// Counts is the panel's count over these kinds, for tests that look at what it
// reads. (A test inside the package cannot have a database: pgtest imports it.)
func Counts(kinds []string) (sql string, args []any) {
	var ks, shown, raws []string
	var least, most []int
	for _, k := range kinds {
		for _, s := range jobs.States() {
			for _, b := range bands([]jobs.State{s}) {
				ks, shown, raws, least, most = append(ks, k), append(shown, string(s)), append(raws, b.raw), append(least, b.min), append(most, b.max)
			}
		}
	}
	return countSQL, []any{ks, shown, raws, least, most, countLimit + 1}
}

// Newest is the choice of a list's ids over these kinds and states.
func Newest(kinds []string, states ...jobs.State) (sql string, args []any) {
	q := &query{}
	n := q.add(defaultPage + 1)
	q.pick([]string{"id < " + q.add(int64(1)<<62)}, kinds, states, n)
	return q.sql, q.args
}
