#!/usr/bin/env bash
# pairs.sh <build directory> <source directory> exact|shaped: udtx-send reports the MTR over a link between two
# namespaces. The median of three runs is within 10 % of the true rate, idle and with 50 % cross traffic. The link is
# the emulator's, or the kernel's TBF and HTB on veth. For the full set with faster links: ./dev bench pairs
set -euo pipefail
skip() {
    echo "skipped: $*"
    exit 77
}
python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null || skip "needs python3, 3.8 or newer"
# The process that measures packet spacing gets priority on its processor. A user without that right has no namespaces
# either.
chrt -f -p 1 $$ >/dev/null 2>&1 || renice -n -15 $$ >/dev/null 2>&1 || true
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export PYTHONDONTWRITEBYTECODE=1
check() {
    python3 "$tool" --test --within 10 --cc udtx --seconds 3 -b "$build" -o "$out" -w "${TMPDIR:-/tmp}" "$@"
}
build=$1
tool=$2/bench/pairs/run
case $3 in
    exact)
        check --lines emulator --rates 50 --cross 0,50
        check --lines emulator --rates 200 --cross 0
        ;;
    shaped)
        check --lines tbf,htb --rates 50,200 --cross 0,50
        ;;
esac
