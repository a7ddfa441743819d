package ui

import "strings"

// Place is where a reader stands in a list that pages by cursors: the cursor of the page, and those of the pages gone
// through on the way, for the way back. The zero value is the first page.
type Place struct {
	Cursor string // "cursor" in the address
	Trail  string // "trail" in the address: cursors joined by "~"
}

// maxTrail bounds an address, in bytes. Who has come further goes back as far as is known, and from there to the first page.
const maxTrail = 1000

// Older is the page after this one; next is its cursor.
func (p Place) Older(next string) Place {
	trail := p.Trail
	if p.Cursor != "" {
		trail = strings.TrimPrefix(trail+"~"+p.Cursor, "~")
	}
	for len(trail) > maxTrail {
		_, rest, more := strings.Cut(trail, "~")
		if !more {
			rest = ""
		}
		trail = rest
	}
	return Place{Cursor: next, Trail: trail}
}

// Newer is the page before this one.
func (p Place) Newer() Place {
	i := strings.LastIndexByte(p.Trail, '~')
	if i < 0 {
		return Place{Cursor: p.Trail}
	}
	return Place{Cursor: p.Trail[i+1:], Trail: p.Trail[:i]}
}
