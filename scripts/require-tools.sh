#!/usr/bin/env bash
# One clear sentence where Go or Node is missing or too old. Both come from their makers, so nothing is installed here.
set -euo pipefail
cd "$(dirname "$0")/.."

# newer_or_same HAVE WANT
newer_or_same() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

want_go=$(awk '$1 == "go" { print $2; exit }' go.mod)
if ! command -v go >/dev/null; then
  echo "Go $want_go or newer is needed and was not found in PATH: see https://go.dev/doc/install" >&2
  exit 1
fi
# Outside the module, so that an older Go answers with its own version instead of fetching a newer one.
have_go=$(cd / && go env GOVERSION | sed 's/^go//; s/[ -].*//')
if ! newer_or_same "$have_go" "${want_go%.0}" && [ "$(go env GOTOOLCHAIN)" = local ]; then
  echo "Go $want_go or newer is needed, this is Go $have_go: see https://go.dev/doc/install" >&2
  exit 1
fi

if [ "${1:-}" = go ]; then exit 0; fi
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  echo "Node 20 or newer with npm is needed for the browser tests and was not found in PATH: see https://nodejs.org" >&2
  exit 1
fi
have_node=$(node --version | sed 's/^v//')
if ! newer_or_same "$have_node" 20; then
  echo "Node 20 or newer is needed for the browser tests, this is Node $have_node: see https://nodejs.org" >&2
  exit 1
fi
