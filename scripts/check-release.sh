#!/usr/bin/env bash
# Two builds of one state, in two folders, are the same to the byte. `make release` proves it again, without a cache.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh
exec go run ./scripts/release -check
