// Package session keeps the owner's door: the cookie, the gate that every
// panel route passes, and the pages for signing in, setting up and out.
//
// Everything is closed by default. What visitors may read is the public face;
// it is mounted outside of the gate.
package session
