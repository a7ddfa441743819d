#!/usr/bin/env bash
# Transactions begin in pg.InTx alone.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh
exec go run ./scripts/gates tx-only-via-pg
