#!/usr/bin/env bash
# Installs what the tests need and find missing: PostgreSQL's programs, Chromium, Python, a C compiler and Node from the system's
# packages; where the system's Node is too old for the browser tests, a newer one through npm, for this checkout alone.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh

missing=()
command -v initdb >/dev/null || missing+=(postgresql)
command -v gcc >/dev/null || missing+=(gcc libc6-dev) # the race detector is linked by it
for tool in python3 curl openssl; do # they run the code that the panel shows
  command -v $tool >/dev/null || missing+=($tool)
done
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || missing+=(chromium)
command -v npm >/dev/null || missing+=(nodejs npm)

if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "The tests need ${missing[*]}, which this machine does not have; on Debian, as root: apt-get install -y ${missing[*]}" >&2
    exit 1
  fi
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -q </dev/null
  apt-get install -q -y --no-install-recommends "${missing[@]}" </dev/null
fi

if ! scripts/require-tools.sh node 2>/dev/null; then
  mkdir -p .out/node
  npm install --prefix .out/node --no-save --no-progress node@22 </dev/null
fi
