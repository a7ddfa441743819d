#!/usr/bin/env bash
# The lock names packages, versions and checksums, never the registry of the machine that wrote it.
set -euo pipefail
cd "$(dirname "$0")/../e2e"

count=$(grep -c '"integrity"' package-lock.json)
if [ "$count" -lt 10 ]; then
  echo "npm-lock: e2e/package-lock.json: only $count packages with a checksum"
  exit 1
fi
# Where a package asks for money says nothing of where it came from.
if grep -nE '"resolved"|https?://' package-lock.json | grep -vE '^[0-9]+: +"(url|funding)": ' | sed 's|^|npm-lock: e2e/package-lock.json:|' | grep .; then
  echo "npm-lock: the lock names a host: keep omit-lockfile-registry-resolved in e2e/.npmrc and write the lock anew"
  exit 1
fi
