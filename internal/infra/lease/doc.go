// Package lease gives a process the sole right to something for a while: a row that says who holds it and until when.
//
// A lease is fenced: it has a random token, and whoever writes a result on its strength compares that token in the same
// transaction, so that a holder that came too late changes nothing. Times are the database's. The holder keeps its lease
// over many uses; the keeper renews it, publishes when it expects to be free, and learns that another process wants it.
//
// What it cannot do: a process that is suspended past its lease and wakes in the middle of a use overlaps with its
// successor, once. Its result is refused; what it did outside is done.
package lease
