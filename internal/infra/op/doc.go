// Package op declares operations: things that can be asked of the system,
// written once and projected to the panel, to POST /api/admin/<operation> and
// to MCP. An operation is data; its input and output are Go structs from which
// JSON schemas are derived.
package op
