#!/usr/bin/env bash
# No error is dropped without saying so. Two sorts have nowhere to go: of a deferred clean-up, which runs when the
# result is already known (a write that matters is closed, and checked, before), and of printing to a person or a log.
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh

out=$(go tool errcheck -exclude scripts/errcheck.txt ./... 2>&1)
status=$?
if [ $status -eq 0 ]; then exit 0; fi
left=$(grep -vE '^[^:]+\.go:[0-9]+:[0-9]+:\s+defer .*\b(Close|Remove|RemoveAll)\(' <<<"$out")
if [ $status -gt 1 ] || [ -n "$left" ]; then
  sed 's/^/errcheck: /' <<<"${left:-$out}"
  exit 1
fi
