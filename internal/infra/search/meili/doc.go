// Package meili is Meilisearch as a search engine, behind the same port as
// PostgreSQL.
//
// Meilisearch answers a write with 202 before anything has happened: the write
// is a task that may fail later, or be gone after a restore (field case F30).
// So every change here waits for its task and returns its failure. Nothing is
// tried again: an error goes to the job, whose policy decides. Each call has a
// deadline of its own, well under that of the job, because a server may accept
// and never answer (field case F07).
//
// The index states its primary key and is prepared before the first write; one
// made by hand with another key is refused with what to do (field case F28).
// Preparing compares first, so that a start changes nothing that is in order.
//
// # Versions
//
// Meilisearch has no conditional write. Upsert leaves out documents that are
// older than what is held, but two workers may still cross between the look
// and the write. What guards then is the caller: it reads the row again after
// each write and writes once more if the row has moved on, so whoever writes
// last has seen the last state (field case F31).
//
// # What it finds, and does not
//
// Words, the beginning of each query's last word, and words with a typo (one
// from five letters on, two from nine). Parts within a word are not found:
// "book" does not find "notebook", which the PostgreSQL engine does. Only the
// first ten words of a query count, and of one text the first 65,535.
package meili
