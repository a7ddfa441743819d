#!/usr/bin/env bash
# What recurs is a declared periodic, not a ticker in a corner.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh
exec go run ./scripts/gates periodic-via-jobs
