package domain

// Alert is something in a domain that needs the owner: its cause, and what to do next. It is derived when asked, never
// stored.
type Alert struct {
	Code, Title, Evidence, Next, Link string
	// Stuck: it does not move and will not by itself.
	Stuck bool
}
