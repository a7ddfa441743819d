#!/usr/bin/env bash
# One package knows the queue library and its tables.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh
exec go run ./scripts/gates queue-behind-port
