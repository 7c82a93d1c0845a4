#!/usr/bin/env bash
# install_test.sh <build dir> <compiler> <cmake> <generator>: installs the archives into a temporary prefix,
# moves that prefix, and builds and runs programs against it by find_package and by pkg-config.
set -euo pipefail
build=$1 compiler=$2 cmake=$3 generator=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/common.sh"

quietly "$cmake" --install "$build" --prefix "$work/first"
mv "$work/first" "$work/prefix"
prefix=$work/prefix
names_no_machine "$prefix" "$work" "$build"

echo "-- every public header compiles on its own"
while IFS= read -r header; do
    echo "#include \"${header#"$prefix/include/"}\"" |
        "$compiler" -std=c++20 -Wall -Wextra -Werror -I "$prefix/include" -fsyntax-only -x c++ -
done < <(find "$prefix/include/udtx" -name '*.hpp')

consume "$prefix" core -DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON \
    -DCMAKE_DISABLE_FIND_PACKAGE_Threads=ON -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON
[ ! -e "$work/cmake/session_consumer" ]
PKG_CONFIG_LIBDIR=$work/none consume "$prefix" transport -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON
consume "$prefix" ''
run_shown "$prefix"
refused "udtx::transport needs OpenSSL" "$prefix" transport -DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON
PKG_CONFIG_LIBDIR=$work/none refused "udtx::transfer needs libxxhash" "$prefix" ''
refused "has no part 'telepathy'" "$prefix" telepathy
by_pkg_config "$prefix" udtx session
by_pkg_config "$prefix" udtx session --static
by_pkg_config "$prefix" udtx-transport session
by_pkg_config "$prefix" udtx-core core

# Asio's classes then have other members than in a program without these options. UDTX_OTHER_BOOST names the headers of
# another version.
beside_asio "$prefix" -DBOOST_ASIO_DISABLE_EPOLL
beside_asio "$prefix" -DBOOST_ASIO_ENABLE_HANDLER_TRACKING -DBOOST_ASIO_DISABLE_TIMERFD -DBOOST_ASIO_DISABLE_EVENTFD \
    2>"$work/tracking"
if [ -n "${UDTX_OTHER_BOOST:-}" ]; then beside_asio "$prefix" -I "$UDTX_OTHER_BOOST"; fi
mapfile -t archives < <(find "$prefix" -name 'libudtx_*.a')
[ ${#archives[@]} -eq 3 ]
python3 -B "$(dirname "$0")/foreign_names.py" "${archives[@]}"

echo "-- components, and what was not built"
for component in dev tools; do
    quietly "$cmake" --install "$build" --prefix "$work/$component" --component $component
done
[ -e "$work/dev/include/udtx/session.hpp" ] && [ ! -e "$work/dev/bin" ]
[ ! -e "$work/tools/include" ] && [ -z "$(find "$work/tools" -name '*.a')" ]
rm "$(find "$prefix" -name libudtx_transfer.a)"
consume "$prefix" core
refused "libudtx_transfer.a was not built when udtx was installed" "$prefix" ''

echo "-- an install of nothing but a configured build"
quietly "$cmake" -G "$generator" -S "$consumer/../../.." -B "$work/unbuilt" -DCMAKE_CXX_COMPILER="$compiler" \
    -DUDTX_BUILD_TESTS=OFF
quietly "$cmake" --install "$work/unbuilt" --prefix "$work/nothing"
grep -q "udtx_core was not built" "$work/log"
[ -z "$(modules "$work/nothing")" ]

echo "-- an install of the core alone"
mkdir -p "$work/unbuilt/libudtx"
cp "$build/libudtx/libudtx_core.a" "$work/unbuilt/libudtx"
quietly "$cmake" --install "$work/unbuilt" --prefix "$work/core"
[ "$(modules "$work/core")" = "udtx-core.pc udtx.pc " ]
for module in udtx udtx-core; do by_pkg_config "$work/core" $module core; done
