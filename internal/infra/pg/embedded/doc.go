// Package embedded runs the private PostgreSQL cluster of a Gatehouse that was not given a DATABASE_URL.
//
// It uses the PostgreSQL programs installed on the machine, keeps everything in one data directory, and listens
// only on a unix socket in that directory (or, where the path is too long for one, on a loopback port).
//
// Guarantees:
//   - An existing cluster is never deleted, re-initialised or upgraded. A new one is built beside its place and
//     moved there by one rename, so a half-built one is always recognised and redone.
//   - Any number of processes may use one data directory. The first starts PostgreSQL, the others adopt it, the
//     last to stop stops it. A PostgreSQL whose starter was killed is adopted by the next one.
//   - A PostgreSQL that dies while it is used is started again by its users (Keep), at the same address.
//   - The PostgreSQL processes form their own process group: Ctrl-C in a terminal reaches the server, which stops
//     PostgreSQL after its own work, and not PostgreSQL directly.
//   - As root, PostgreSQL runs as the user postgres, because it refuses to run as root.
//
// What lies in DataDir/postgres:
//
//	start.lock   held while a process starts or stops PostgreSQL
//	users.lock   held, shared, by every process that uses it; the kernel lets go of it when a process dies
//	postgres.log what PostgreSQL says; postgres.log.1 is the one before
//	run/         the socket
//	port         the loopback port, where there is no socket
//	cluster/     data/ (the cluster itself) and pgpass (its passwords, for the owner's eyes only)
//	init-*/      a cluster being built
package embedded
