#!/usr/bin/env bash
# Files and functions short enough to be read.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh
exec go run ./scripts/gates size
