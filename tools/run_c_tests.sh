#!/bin/sh
# Runs C test programs, then examples after "--". Prints what fails in full and one count line at the end.
set -u
passed=0 failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export POLY_TIER="${POLY_TIER:-1}" # what runs on the CPU is compiled
export POLY_CACHE_DIR="${POLY_CACHE_DIR:-$dir/cache}"
export POLY_VERIFY=1
# The leak checker stops the program's threads to look at them and sometimes falls over itself; that says nothing of the program.
run() {
  "$1" >"$dir/log" 2>&1 && return 0
  grep -q 'LeakSanitizer has encountered a fatal error' "$dir/log" && "$1" >"$dir/log" 2>&1
}
for program in "$@"; do
  [ "$program" = "--" ] && continue
  if run "$program"; then
    n=$(grep -c '^\[       OK' "$dir/log" || true)
    [ "$n" -gt 0 ] || n=1
    passed=$((passed + n))
  else
    failed=$((failed + 1))
    echo "FAILED: $program"
    cat "$dir/log"
  fi
done
echo "c: $passed passed, $failed failed"
[ "$failed" = 0 ]
