#!/usr/bin/env bash
# Go sources are written as gofmt writes them.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh

unformatted=$(find . -name '*.go' -not -name '*_templ.go' -not -path '*/node_modules/*' -not -path './.*' -print0 | xargs -0 gofmt -l)
if [ -n "$unformatted" ]; then
  sed 's|^|format: |; s|$|: not as gofmt writes it; run make fmt|' <<<"$unformatted"
  exit 1
fi
