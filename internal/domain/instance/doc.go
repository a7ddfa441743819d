// Package instance owns what is known of this installation as a whole: which database it is, whether that database was
// restored or copied, the hold that keeps everything from leaving the house until the owner has decided, and when the last
// backup was made.
//
// A database is recognised by the server's system identifier, its timeline, the oids of the database and of the events
// table, and by a nonce that changes at every start and is mirrored in the data directory. What a copy is of, and what it
// would send again, nobody can know; so it sends nothing until the owner has chosen.
//
// Limits: a copy of a whole machine, database and data directory alike, is equal in all of these and is not recognised
// (the command `gatehouse hold` is for that); nor is a database set back to an older state under a data directory that is
// new at every start.
package instance
