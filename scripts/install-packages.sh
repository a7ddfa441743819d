#!/usr/bin/env bash
# Installs what the tests need from the system and find missing: PostgreSQL's programs, Chromium and a C compiler.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh

missing=()
command -v initdb >/dev/null || missing+=(postgresql)
command -v gcc >/dev/null || missing+=(gcc libc6-dev) # the race detector is linked by it
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || missing+=(chromium)
if [ ${#missing[@]} -eq 0 ]; then exit 0; fi

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "The tests need ${missing[*]}, which this machine does not have; on Debian, as root: apt-get install -y ${missing[*]}" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q </dev/null
apt-get install -q -y --no-install-recommends "${missing[@]}" </dev/null
