// Package report holds what a benchmark found: figures beside their bars and
// beside references measured in the same run, and curves. It writes them as
// Markdown and SVG and judges nothing that could fail a build.
package report
