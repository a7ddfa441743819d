#!/usr/bin/env bash
# Nothing that the Content-Security-Policy would block.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh
exec go run ./scripts/gates csp
