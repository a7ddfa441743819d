// Package mcp projects the operations to the Model Context Protocol at /mcp:
// one tool for each, its name with the dot turned into an underscore.
//
// The server keeps no sessions: every request carries its token and gets the
// tools of that token's classes, so a right that is taken away is gone on the
// next call and a restart is noticed by nobody (field case F55). What destroys
// or acts on many takes two calls: the first answers with a plan, the second
// applies it.
package mcp
