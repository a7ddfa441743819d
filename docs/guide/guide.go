// Package guide is the user's manual: a small vault of linked notes that is
// imported on the first run as demo content. The manual is the first thing the
// product publishes.
package guide

import "embed"

// Notes is the vault.
//
//go:embed *.md */*.md
var Notes embed.FS
