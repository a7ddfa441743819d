#!/usr/bin/env bash
# Installs the browser tests' packages, exactly as locked, where they are missing or older than the lock.
set -euo pipefail
cd "$(dirname "$0")/../"
. scripts/env.sh
cd e2e

if [ node_modules/.package-lock.json -nt package-lock.json ]; then exit 0; fi
# A home folder of another user (su without -) leaves a cache that cannot be written.
if ! mkdir -p "$(npm config get cache)" 2>/dev/null || [ ! -w "$(npm config get cache)" ]; then
  export npm_config_cache="$OLDPWD/.out/npm"
fi
npm ci --no-progress </dev/null
