// Package tasks is the owner's view of what the system is doing: jobs,
// periodics, events and whether anything is stuck. It owns one small table, the
// counts behind the overview's charts; all else it reads and mends through the
// ports of the queue and the bus.
//
// In the panel a job is called a task. Every function here is an operation:
// panel, JSON and MCP call the same one.
package tasks
