#!/usr/bin/env bash
# Nothing here knows the machine it was written on.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh
exec go run ./scripts/gates machine
