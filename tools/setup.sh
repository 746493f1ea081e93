#!/bin/sh
# Installs the Debian packages that building and testing need, if any is missing. Usage: setup.sh PACKAGE...
# On other systems it only says what is missing, and goes on: the packages may be there under other names.
set -eu
missing=""
for p in "$@"; do
  dpkg -s "$p" >/dev/null 2>&1 || missing="$missing $p"
done
[ -z "$missing" ] && exit 0
if ! command -v apt-get >/dev/null 2>&1; then
  echo "setup: please install the equivalents of:$missing" >&2
  exit 0
fi
run=""
[ "$(id -u)" = 0 ] || run="sudo"
echo "setup: installing$missing"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
$run apt-get install -y --no-install-recommends $missing >/dev/null 2>&1 || {
  $run apt-get update >/dev/null
  $run apt-get install -y --no-install-recommends $missing >/dev/null
}
