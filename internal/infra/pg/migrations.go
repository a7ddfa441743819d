package pg

import "embed"

// Migrations are the numbered steps from the first released schema to the
// current one. 0001 is that first schema itself, kept for the schema gate.
//
//go:embed migrations/*.sql
var Migrations embed.FS
