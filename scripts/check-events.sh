#!/usr/bin/env bash
# Every event type is built in one place, shown by an example, pinned by a golden JSON and reached by a test.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh
exec go run ./scripts/gates events
