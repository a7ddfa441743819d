// Package live tells open pages that what they show is out of date: one stream
// of server-sent events a browser.
//
// A message says which topic changed, never what: the page asks again for the
// part it shows. So a slow reader needs no buffer, and a reader that was cut
// off is caught up by comparing what it last saw, which is its message id, with
// what is now; any process can do that. A page carries the position at which
// its data was read and begins there, so that nothing falls between the reading
// and the stream.
//
// While nobody reads and no page is made, nothing is looked at.
package live
