#!/usr/bin/env bash
# What is said at a field is a sentence: it begins with a capital (or with what was typed) and ends with a full stop.
set -euo pipefail
cd "$(dirname "$0")/.."

refusals=$(grep -rnP 'Invalidf\("[a-z_]*", ' internal cmd --include=*.go | grep -v '_test\.go:' || true)
count=$(grep -c . <<<"$refusals" || true)
if [ "$count" -lt 60 ]; then
  echo "refusals: found only $count in internal and cmd" >&2
  exit 1
fi
if grep -P 'Invalidf\("[a-z_]*", (?:"[a-z]|"(?:[^"\\]|\\.)*[^.?"\\]"[,)])' <<<"$refusals"; then
  echo 'these refusals are no sentences' >&2
  exit 1
fi
