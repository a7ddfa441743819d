#!/usr/bin/env bash
# No error is dropped without saying so.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh
exec go tool errcheck ./...
