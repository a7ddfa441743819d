#!/usr/bin/env bash
# What the Makefile, the CI script and the README name exists.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh
exec go run ./scripts/gates make-targets
