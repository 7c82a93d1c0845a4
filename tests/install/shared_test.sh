#!/usr/bin/env bash
# shared_test.sh <source dir> <compiler> <cmake> <generator> <version>: builds the shared library as a part of another
# project, checks its exported names, installs it, and builds and runs programs against it.
set -euo pipefail
source=$1 compiler=$2 cmake=$3 generator=$4 version=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/common.sh"

launcher=()
[ -z "$(command -v ccache)" ] || launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
quietly "$cmake" -G "$generator" -S "$(dirname "$0")/child" -B "$work/build" -DCMAKE_CXX_COMPILER="$compiler" \
    -DUDTX_SOURCE="$source" -DBUILD_SHARED_LIBS=ON -DUDTX_INSTALL=ON -DUDTX_PRECOMPILE=ON "${launcher[@]}"
quietly "$cmake" --build "$work/build" -j 2
echo "-- a part of another project"
"$work/build/child_core_consumer"
"$work/build/child_consumer"

quietly "$cmake" --install "$work/build" --prefix "$work/first" --component lib
library=$(find "$work/first" -name "libudtx.so.$version")
[ -n "$library" ] && [ -e "${library%.*}" ] && [ ! -e "$work/first/include" ]
quietly "$cmake" --install "$work/build" --prefix "$work/first" --component dev
mv "$work/first" "$work/prefix"
names_no_machine "$work/prefix" "$work" "$source"

echo "-- names"
library=$(find "$work/prefix" -name "libudtx.so.$version")
readelf -d "$library" | grep -q "SONAME.*\[libudtx.so.${version%.*}\]"
python3 -B "$(dirname "$0")/exported_names.py" "$work/prefix/include/udtx" "$library"

consume "$work/prefix" core -DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON
consume "$work/prefix" '' -DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON
run_shown "$work/prefix"
beside_asio "$work/prefix" -DBOOST_ASIO_DISABLE_EPOLL
refused "has no part 'telepathy'" "$work/prefix" telepathy
for module in udtx udtx-core udtx-transfer; do by_pkg_config "$work/prefix" $module session; done
