#!/usr/bin/env bash
# pairs.sh <build directory> <source directory>: the MTR that udtx-send reports over an exact line between two namespaces
# is within 10 % of the truth, median of three: idle, and at 50 Mbit/s with 50 % cross traffic, too. The full set, faster
# lines and the kernel's shapers: ./dev bench pairs
set -euo pipefail
skip() {
    echo "skipped: $*"
    exit 77
}
python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null || skip "needs python3, 3.8 or newer"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export PYTHONDONTWRITEBYTECODE=1
check() {
    python3 "$tool" --test --within 10 --lines emulator --cc udtx --seconds 3 -b "$build" -o "$out" -w "${TMPDIR:-/tmp}" "$@"
}
build=$1
tool=$2/bench/pairs/run
check --rates 50 --cross 0,50
check --rates 200 --cross 0
