// Package owner owns the one person a Gatehouse belongs to: setting up through
// a one-time link, signing in, sessions and the few settings of the site.
//
// Nothing that opens a door is stored in clear: passwords as argon2id, tokens
// of sessions and links as SHA-256 (they are random, so a fast hash is enough).
package owner
