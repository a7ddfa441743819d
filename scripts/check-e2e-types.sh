#!/usr/bin/env bash
# The browser tests' types; Playwright itself only strips them.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install-npm.sh
cd e2e
exec node_modules/.bin/tsc --noEmit
