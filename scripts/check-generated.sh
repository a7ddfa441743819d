#!/usr/bin/env bash
# Committed generated code is what the generator writes today. The views are copied, generated anew and compared, so
# that checking changes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
views=$(find . -name '*.templ' -not -path '*/node_modules/*' -not -path './.*')
if [ -z "$views" ]; then
  echo "generated: found no .templ file: is it run at the root of the checkout?"
  exit 1
fi
tar -cf - go.mod $views | tar -xf - -C "$copy"
templ=$copy/templ
go build -o "$templ" github.com/a-h/templ/cmd/templ
(cd "$copy" && ./templ generate -log-level error)

status=0
for view in $views; do
  written=${view%.templ}_templ.go
  if ! cmp -s "$copy/$written" "$written"; then
    echo "generated: $written: differs from what the generator writes; run make generate"
    status=1
  fi
done
for written in $(find . -name '*_templ.go' -not -path '*/node_modules/*' -not -path './.*'); do
  if [ ! -e "${written%_templ.go}.templ" ]; then
    echo "generated: $written: its view is gone; delete it"
    status=1
  fi
done
exit $status
