#!/usr/bin/env bash
# Goroutines are started, owned and stopped in infra and cmd.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh
exec go run ./scripts/gates no-bare-goroutine
