// Package edge stands between net/http and the pages: one place where errors become
// statuses, a page is rendered whole before its status is written, forms are read, and
// every answer gets its security headers.
//
// A handler is a function that returns an error; Edge.Handle turns it into an http.Handler.
// Edge.Chain is put around the whole mux, outermost first: request id, panics, security
// headers, cross-origin protection, the surroundings (ui.Env) that components render in.
// Nothing in the chain buffers or compresses what passes through it, so event streams work
// (field case F37): compression happens where a whole page is at hand, in Render.
package edge
