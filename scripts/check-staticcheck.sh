#!/usr/bin/env bash
# Mistakes and dead code that vet does not find.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh
exec go tool staticcheck ./...
