#!/usr/bin/env bash
# Trying again is decided by the policy of a job, in one place.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh
exec go run ./scripts/gates retry-only-in-jobs
