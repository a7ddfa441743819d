#!/usr/bin/env bash
# Only a domain's subscriber reaches the outside world.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh
exec go run ./scripts/gates side-effects-behind-bus
