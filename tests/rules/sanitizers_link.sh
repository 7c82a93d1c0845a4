# Configures a build with sanitizers for a compiler that lacks their library: the error must name what to install.
# sanitizers_link.sh REPOSITORY CXX
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; cat "$work/log"; exit 1; }
cat >"$work/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.21)
project(sanitizers_link LANGUAGES CXX)
include($1/cmake/UdtxSanitizers.cmake)
END
printf '#!/bin/sh\nfor a in "$@"; do case $a in -fsanitize=*) exit 1 ;; esac; done\nexec "%s" "$@"\n' "$2" >"$work/bare"
chmod +x "$work/bare"
configure() { cmake -S "$work" -B "$work/build" -DUDTX_SANITIZE=undefined -DCMAKE_CXX_COMPILER="$1" >"$work/log" 2>&1; }
! configure "$work/bare" || fail "a build without the library is configured"
tr -s '\n ' ' ' <"$work/log" | grep -qE 'cannot link with -fsanitize=undefined: install .* \(Debian: lib[a-z-]*[0-9]+-dev\)' ||
    fail "the error does not name the package"
# The same directory configures once the library is there.
printf '#!/bin/sh\nexec "%s" "$@"\n' "$2" >"$work/bare"
echo 'int main() {}' | "$2" -x c++ - -fsanitize=undefined -o "$work/linked" 2>/dev/null || exit 0
configure "$work/bare" || fail "it is not configured"
