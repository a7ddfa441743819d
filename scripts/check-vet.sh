#!/usr/bin/env bash
# Mistakes the compiler accepts.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh
exec go vet ./...
