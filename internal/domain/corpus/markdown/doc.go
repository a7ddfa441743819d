// Package markdown turns the source of one note, in Obsidian's flavour of Markdown, into everything that is derived from it: safe HTML, a
// table of contents, plain text for search, feeds and descriptions, tags, and outgoing links.
//
// Three rules hold for every derivative, because a page that hides something which search then shows has hidden nothing:
//
//   - Comments (%%…%% and <!-- … -->) are cut from the source before anything else reads it; what is code stays (field case F43).
//   - A link whose target the Resolver does not give is shown by the words its author put on it (the alias), and without an alias by one
//     neutral word; private and missing look the same, and the target's name is never used (field case F45).
//   - Plain text is read from the finished HTML, so it cannot say more than the page does.
//
// The HTML needs no inline style or script, holds only http, https, mailto and the Resolver's own addresses, loads nothing from other
// hosts, and is balanced: no note can close an element of the page around it.
//
// The package is pure: it knows no database and no address scheme; the caller's Resolver decides what exists and who may see it.
package markdown
