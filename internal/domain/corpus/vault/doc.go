// Package vault reads an Obsidian vault, a folder or a zip, into records: notes with their front matter, and attachments.
//
// Every file ends as exactly one record: a note, an attachment, skipped or refused, the last two with a reason a person understands.
// (A folder that is left out as a whole, such as .obsidian, is one record.) Records come in the order of their paths, whatever the file
// system or the archive's author did, so that reading the same vault twice gives the same records.
//
// Front matter decides whether a note is public, so reading it errs on one side: whatever looks meant as front matter but cannot be read
// makes the note private, with a warning that names the line, and loses no text (field cases F39, F40).
//
// Archives come from strangers: everything is bounded by bytes really read, never by what the archive says about itself.
package vault
