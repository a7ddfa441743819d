package ui

// Column is the head of one column.
type Column struct {
	Label  string
	Class  string // "num" aligns figures right, "wide" takes what space is left
	Unseen bool   // the label is for screen readers alone: a column of buttons
	Href   string // sorts by this column; "" for none
	Sort   string // "ascending" or "descending" when the table is sorted by it
}

// Pager leads through a list by opaque cursors. "" hides a direction.
type Pager struct {
	Newer string // address of the page before this one
	Older string // address of the page after this one
	Shown string // what is shown: "50 of about 1 200"
	Plain bool   // the list is not in the order of time: say "Previous" and "Next"
}

func (p Pager) words() (before, after string) {
	if p.Plain {
		return "Previous", "Next"
	}
	return "Newer", "Older"
}
