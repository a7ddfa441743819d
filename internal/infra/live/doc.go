// Package live tells open pages that what they show is out of date: one stream
// of server-sent events a browser.
//
// A message says which topic changed, never what: the page asks again for the
// part it shows. So a slow reader needs no buffer, and a reader that was cut
// off is caught up by comparing what it last saw, which is its message id, with
// what is now; any process can do that.
//
// While nobody reads, nothing is looked at.
package live
