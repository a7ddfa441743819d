// Package corpus owns the notes: raw ones (a private inbox), the wiki (a tree)
// and dated writings; their addresses, links, tags, attachments, trash, and the
// import of vaults.
//
// Published gates every reading by visitors. Methods whose names begin with
// Public answer for visitors: to them a private note and a missing one are the
// same. The rules that hold for whoever writes, SQL by hand included, are in
// schema.sql: addresses and versions are kept by triggers, and so is
// corpus.note.changed. Use cases add what a person needs: clear refusals,
// receipts, and the facts of events.go.
package corpus
