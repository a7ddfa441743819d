// Package postgres is the default search engine: PostgreSQL itself, without
// any extension.
//
// Text is cut into terms here and not by a text search configuration, so that
// the same rule holds for every language: words are folded (case, accents,
// width), Chinese, Japanese and Korean runs become single signs and pairs, and
// words of four letters or more also leave their three-letter parts, marked by
// ~, so that parts of words are found. A candidate that the terms propose is
// kept only if the folded text really holds every word asked for.
package postgres
