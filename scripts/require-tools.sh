#!/usr/bin/env bash
# One clear sentence where Go or Node is missing or too old.
#
#   scripts/require-tools.sh [go] [node]     (none named: both)
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh

# newer_or_same HAVE WANT
newer_or_same() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# refuse WHAT WHERE
refuse() {
  echo "$1: see $2" >&2
  exit 1
}

go_is_new() {
  local want have
  want=$(awk '$1 == "go" { print $2; exit }' go.mod)
  command -v go >/dev/null || refuse "Go $want or newer is needed and was not found in PATH" https://go.dev/doc/install
  # Outside the module, so that an older Go answers with its own version instead of fetching a newer one.
  have=$(cd / && go env GOVERSION | sed 's/^go//; s/[ -].*//')
  if ! newer_or_same "$have" "${want%.0}" && [ "$(go env GOTOOLCHAIN)" = local ]; then
    refuse "Go $want or newer is needed, this is Go $have" https://go.dev/doc/install
  fi
}

node_is_new() {
  local have
  if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    refuse "Node 20 or newer with npm is needed for the browser tests and was not found in PATH" https://nodejs.org
  fi
  have=$(node --version | sed 's/^v//')
  newer_or_same "$have" 20 || refuse "Node 20 or newer is needed for the browser tests, this is Node $have" https://nodejs.org
}

if [ $# -eq 0 ]; then set -- go node; fi
for tool in "$@"; do "${tool}_is_new"; done
