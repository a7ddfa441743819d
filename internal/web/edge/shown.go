package edge

import (
	"strconv"
	"strings"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// mostRows is how many rows of a list a page asks for again.
const mostRows = 100

// Numbers reads the rows that a page shows, written as "12.11.9". What no page of ours writes is not found.
func Numbers(text string) ([]int64, error) {
	var out []int64
	for _, part := range strings.Split(text, ".") {
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil || n <= 0 || len(out) == mostRows {
			return nil, ErrNotFound
		}
		out = append(out, n)
	}
	return out, nil
}

// UUIDs is Numbers for rows that are known by UUIDs.
func UUIDs(text string) ([]string, error) {
	out := strings.Split(text, ".")
	for _, id := range out {
		if !pg.ValidUUID(id) || len(out) > mostRows {
			return nil, ErrNotFound
		}
	}
	return out, nil
}
