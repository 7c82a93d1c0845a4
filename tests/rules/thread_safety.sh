#!/usr/bin/env bash
# thread_safety.sh <source directory> [files...]: lets clang check that the library uses what a mutex guards only under
# that mutex (libudtx/src/base/thread_safety.hpp). Without files it checks all sources that name a mutex or a lock.
set -euo pipefail
cd "$1"
shift
if ! command -v clang++ >/dev/null; then
    echo "skipped: no clang++"
    exit 77
fi
files=("$@")
[ ${#files[@]} -gt 0 ] || mapfile -t files < <(grep -rlwE 'Mutex|Lock' libudtx/src --include='*.cpp' | sort)
[ ${#files[@]} -gt 0 ] || { echo "no source names a mutex"; exit 1; }
printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -n 1 clang++ -std=c++20 -Ilibudtx/include -Ilibudtx/src \
    -fsyntax-only -Wthread-safety -Werror=thread-safety
