#!/usr/bin/env bash
# Who may import whom, and nothing made for tests inside the server.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh
exec go run ./scripts/gates deps
