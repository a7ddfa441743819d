#!/usr/bin/env bash
# No error is dropped without saying so. Two sorts have nowhere to go: of a deferred clean-up, which runs when the
# result is already known (a write that matters is closed, and checked, before), and of printing to a person or a log.
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh

# Findings come on standard output, faults of the tool itself on standard error, between what go says while it builds.
said=$(mktemp)
trap 'rm -f "$said"' EXIT
found=$(go tool errcheck -exclude scripts/errcheck.txt ./... 2>"$said")
status=$?
if [ $status -eq 0 ]; then exit 0; fi
if [ $status -ne 1 ] || [ -z "$found" ]; then
  sed 's/^/errcheck: /' "$said"
  exit 1
fi
left=$(grep -vE '^[^:]+\.go:[0-9]+:[0-9]+:\s+defer .*\b(Close|Remove|RemoveAll)\(' <<<"$found")
if [ -n "$left" ]; then
  sed 's/^/errcheck: /' <<<"$left"
  exit 1
fi
