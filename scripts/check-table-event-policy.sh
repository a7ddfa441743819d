#!/usr/bin/env bash
# Each table says whether its changes are events, and is held to it.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh
exec go run ./scripts/gates table-event-policy
