#!/usr/bin/env bash
# The one gate. Runs every scripts/check-*.sh, the Go tests with the race detector on a private PostgreSQL, and the
# browser tests against the built binary; prints what failed, and last the count.
#
#   scripts/check.sh [gates] [go] [faults] [e2e]     (none named: all)
#
# Everything runs even after a failure, so that one run shows all there is to mend. Logs stay in .out/logs.
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh

scripts/require-tools.sh || exit 1

logs=.out/logs
mkdir -p "$logs"
passed=0 failed=0

# say STATE NAME SINCE [NOTE]
say() { printf '%-8s%-26s%4d s  %s\n' "$1" "$2" "$((SECONDS - $3))" "${4:-}"; }

# show LOG: what a person needs of a failed step, without drowning the rest.
show() {
  local lines
  lines=$(wc -l <"$1")
  if [ "$lines" -gt 400 ]; then
    echo "    … $((lines - 400)) earlier lines are in $1"
  fi
  tail -n 400 "$1" | sed 's/^/    /'
}

gate() {
  local name=$1 since=$SECONDS status
  shift
  timeout 600 "$@" >"$logs/$name.log" 2>&1 </dev/null
  status=$?
  case $status in
  0) passed=$((passed + 1)); say ok "$name" "$since" ;;
  75) say skipped "$name" "$since" "$(tail -n 1 "$logs/$name.log")" ;;
  *) failed=$((failed + 1)); say FAILED "$name" "$since" "exit code $status"; show "$logs/$name.log" ;;
  esac
}

gates() {
  local script name
  for script in scripts/check-*.sh; do
    name=${script#scripts/check-}
    gate "${name%.sh}" "$script"
  done
}

# count NAME SINCE STATUS "PASSED FAILED SKIPPED": adds the counts of a suite. A suite that ends badly without a
# failed test, or without any test at all, is a failure too.
count() {
  local name=$1 since=$2 status=$3 p=0 f=0 s=0
  read -r p f s <<<"$4"
  p=${p:-0} f=${f:-0} s=${s:-0}
  if [ "$f" -eq 0 ] && { [ "$status" -ne 0 ] || [ "$p" -eq 0 ]; }; then f=1; fi
  passed=$((passed + p)) failed=$((failed + f))
  if [ "$f" -eq 0 ]; then
    say ok "$name" "$since" "$p passed, $s skipped"
  else
    say FAILED "$name" "$since" "$f failed, $p passed, $s skipped"
    show "$logs/$name.log"
  fi
}

# go_suite NAME ARGUMENT...: go test on a private PostgreSQL.
go_suite() {
  local name=$1 since=$SECONDS status
  shift
  rm -f "$logs/$name.count"
  timeout 2400 go run ./scripts/testcluster -- go test -json "$@" 2>&1 </dev/null |
    tee "$logs/$name.json" | go run ./scripts/tally "$logs/$name.count" >"$logs/$name.log"
  status=${PIPESTATUS[0]}
  count "$name" "$since" "$status" "$(cat "$logs/$name.count" 2>/dev/null)"
}

browser_tests() {
  local since=$SECONDS status
  rm -f e2e/artifacts/results.json
  (
    scripts/install-npm.sh &&
      timeout 2400 go run ./scripts/testcluster -- npm --prefix e2e test
  ) >"$logs/browser-tests.log" 2>&1 </dev/null
  status=$?
  count browser-tests "$since" "$status" "$(node e2e/tally.mjs e2e/artifacts/results.json 2>/dev/null)"
}

if [ $# -eq 0 ]; then set -- gates go faults e2e; fi
for part in "$@"; do
  case $part in
  gates) gates ;;
  # The gate "vet" has vetted everything.
  # The faults are a part of their own: what they try is the built binary.
  go) go_suite go-tests -race -shuffle=on -vet=off -timeout 15m $(go list ./... | grep -v '/e2e/faults$') ;;
  faults)
    # Every scenario once, and of the random ones three schedules, each with a seed of its own that it prints. They mostly
    # wait for what they broke to heal, so more of them run at a time than there are cores.
    go_suite faults -count=1 -parallel 5 -timeout 15m ./e2e/faults -schedules 3
    ;;
  e2e) browser_tests ;;
  *) echo "no part is called $part: gates, go, faults, e2e" >&2; exit 2 ;;
  esac
done

echo "$passed passed, $failed failed" | tee "$logs/count"
[ "$failed" -eq 0 ]
