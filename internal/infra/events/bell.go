package events

// Bell wakes the relay of this process and, through it, those of others. It is
// made before recorders and bus, which share it. A ring is a hint and is never
// lost for long: the relay looks by itself each second.
type Bell struct {
	relay  chan struct{}
	others chan struct{}
}

// NewBell returns a bell that nobody hears yet.
func NewBell() *Bell {
	return &Bell{relay: make(chan struct{}, 1), others: make(chan struct{}, 1)}
}

// Ring says that a transaction with events has committed. It never blocks, so
// it can be an after-commit hook: tx.AfterCommit(bell.Ring). Rings that come
// before the last one was heard are one.
func (b *Bell) Ring() {
	b.ringHere()
	select {
	case b.others <- struct{}{}:
	default:
	}
}

// ringHere wakes this process only.
func (b *Bell) ringHere() {
	select {
	case b.relay <- struct{}{}:
	default:
	}
}
