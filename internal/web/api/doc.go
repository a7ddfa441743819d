// Package api projects the operations to JSON: POST /api/admin/<operation>,
// the operation's input as the body, its output as the answer. An error is a
// problem document (RFC 9457).
//
// Whoever calls is the signed-in owner's browser, or carries a bearer token
// that allows the operation's class.
package api
