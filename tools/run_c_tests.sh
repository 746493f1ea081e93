#!/bin/sh
# Runs C test programs, then examples after "--". Prints what fails in full and one count line at the end.
set -u
passed=0 failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export POLY_CACHE_DIR="${POLY_CACHE_DIR:-$dir/cache}"
for program in "$@"; do
  [ "$program" = "--" ] && continue
  if "$program" >"$dir/log" 2>&1; then
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
