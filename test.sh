#!/bin/bash
# test.sh [--quick]: builds Cerberus and runs all tests. The last line says how
# many passed and failed; the exit code is 0 if none failed. --quick runs what
# takes some three minutes: no programs built by nvcc, PTX on one target only.
# docs/testing.md says what is run.
set -euo pipefail
cd "$(dirname "$0")"
quick=0
case "$*" in
  '') ;;
  --quick) quick=1 ;;
  *) echo "usage: test.sh [--quick]" >&2; exit 2 ;;
esac

scripts/setup.sh
cmake --preset release --log-level=WARNING
cmake --build --preset release

build=$PWD/build/release
logs=$build/tests/logs
rm -rf "$logs" && mkdir -p "$logs"
passed=0
failed=0

# run NAME COMMAND...: runs a suite, which leaves its results as JUnit XML in
# $logs/NAME.xml, and adds them up. A suite that leaves none has failed.
run() {
  local name=$1 status=0 counts
  shift
  printf '\n== %s\n' "$name"
  "$@" || status=$?
  counts=$(python3 scripts/count_results.py "$logs/$name.xml") || counts="0 1"
  local suite_passed=${counts% *} suite_failed=${counts#* }
  # A runner that fails without a failed test (a crash, say) is one failure.
  if ((status != 0 && suite_failed == 0)); then suite_failed=1; fi
  passed=$((passed + suite_passed))
  failed=$((failed + suite_failed))
}

jobs=$(nproc)
run "style" scripts/check_style.py --build "$build" --junit "$logs/style.xml"
unit=() text=(tests)
if ((quick)); then
  unit=(-LE e2e -E '^(exec|emulator\.(hip|debian_hip|instructions))\.')
  text=(tests/cli tests/passes)
fi
run "unit" ctest --test-dir "$build" -j "$jobs" --output-on-failure \
  --progress --no-tests=error --output-junit "$logs/unit.xml" "${unit[@]}"
run "text" lit-22 "${text[@]}" -s -v -j "$jobs" --param build="$build" \
  --xunit-xml-output "$logs/text.xml"

echo
echo "$passed passed, $failed failed"
((failed == 0))
