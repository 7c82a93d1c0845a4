#!/usr/bin/env bash
# install_test.sh <build dir> <compiler> <cmake> <generator> <flags>: installs into a temporary prefix, moves that prefix,
# and builds and runs a program against it by find_package and by pkg-config.
set -euo pipefail
build=$1 compiler=$2 cmake=$3 generator=$4 flags=$5
consumer=$(cd "$(dirname "$0")" && pwd)/consumer
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/first" >"$work/log" || { cat "$work/log"; exit 1; }
mv "$work/first" "$work/prefix"
if grep -rlF -e "$work" -e "$build" "$work/prefix" --include='*.cmake' --include='*.pc'; then
    echo "the installed package names paths of the machine it was built on"
    exit 1
fi

echo "-- every public header compiles on its own"
while IFS= read -r header; do
    echo "#include \"udtx/${header##*/}\"" |
        "$compiler" -std=c++20 -Wall -Wextra -Werror -I "$work/prefix/include" -fsyntax-only -x c++ -
done < <(find "$work/prefix/include/udtx" -name '*.hpp')

echo "-- find_package"
"$cmake" -G "$generator" -S "$consumer" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$work/prefix" \
    -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$flags" >"$work/log" || { cat "$work/log"; exit 1; }
"$cmake" --build "$work/cmake" >"$work/log" || { cat "$work/log"; exit 1; }
"$work/cmake/core_consumer"
"$work/cmake/session_consumer"

echo "-- pkg-config"
pc=$(find "$work/prefix" -name udtx.pc)
export PKG_CONFIG_PATH=${pc%/*}
# Word splitting is what turns the answer into arguments.
# shellcheck disable=SC2046,SC2086
"$compiler" -std=c++20 $flags "$consumer/session_consumer.cpp" $(pkg-config --cflags --libs --static udtx) -o "$work/by_pkg_config"
"$work/by_pkg_config"
