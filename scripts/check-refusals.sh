#!/usr/bin/env bash
# What is said at a field is a sentence: it begins with a capital (or with what was typed) and ends with a full stop.
set -euo pipefail
cd "$(dirname "$0")/.."

said='Invalidf\("[a-z_]*", "(?:[a-z]|(?:[^"\\]|\\.)*[^.?"\\]"[,)])'
if grep -rnP "$said" internal cmd --include=*.go | grep -v '_test\.go:'; then
  echo 'these refusals are no sentences' >&2
  exit 1
fi
