// Package gatehouse holds the current database schema, embedded so that the
// binary needs no files beside it.
package gatehouse

import _ "embed"

// Schema is applied to an empty database. Numbered migrations in
// internal/infra/pg/migrations bring an older one to the same shape.
//
//go:embed schema.sql
var Schema string
