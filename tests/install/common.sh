# Functions for the tests of the installed package. Source it with compiler, cmake, generator and work set.

quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }; }

consumer=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/consumer

configure() {  # configure <prefix> <components> [options of cmake...]: configures the consumer in $work/cmake
    local prefix=$1 parts=$2
    shift 2
    rm -rf "$work/cmake"
    "$cmake" -G "$generator" -S "$consumer" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DPARTS="$parts" \
        -DCMAKE_CXX_COMPILER="$compiler" "$@"
}

consume() {  # consume <prefix> <components> [options of cmake...]: builds and runs all programs that these allow
    echo "-- find_package, components: ${2:-all}"
    quietly configure "$@"
    quietly "$cmake" --build "$work/cmake"
    for program in core session whole; do
        [ ! -e "$work/cmake/${program}_consumer" ] || "$work/cmake/${program}_consumer"
    done
}

run_shown() {  # run_shown <prefix>: builds the code of the documents, as projects that a user of the package would copy
    local project
    for project in "$consumer/../guide" "$consumer/../../../examples"; do
        echo "-- $(basename "$project")"
        rm -rf "$work/shown"
        quietly "$cmake" -G "$generator" -S "$project" -B "$work/shown" -DCMAKE_PREFIX_PATH="$1" \
            -DCMAKE_CXX_COMPILER="$compiler"
        quietly "$cmake" --build "$work/shown" -j 2
        quietly "${cmake%/*}/ctest" --test-dir "$work/shown" --output-on-failure --no-tests=error
    done
}

refused() {  # refused <reason> <prefix> <components> [options of cmake...]
    local reason=$1
    shift
    echo "-- not found: $reason"
    if configure "$@" >"$work/log" 2>&1 || ! tr -s ' \n' ' ' <"$work/log" | grep -qF "$reason"; then
        cat "$work/log"
        exit 1
    fi
}

beside_asio() {  # beside_asio <prefix> <options of the compiler...>: a program that compiles Boost.Asio in its own way
    local prefix=$1 pc
    shift
    echo "-- beside its own Boost.Asio: $*"
    pc=$(find "$prefix" -name udtx.pc)
    # shellcheck disable=SC2046
    quietly "$compiler" -std=c++20 "$@" "$consumer/../guide/asio.cpp" -o "$work/beside_asio" \
        $(PKG_CONFIG_PATH=${pc%/*} pkg-config --cflags --libs --static udtx) -pthread
    LD_LIBRARY_PATH=$(dirname "$(dirname "$pc")") "$work/beside_asio"
}

names_no_machine() {  # names_no_machine <prefix> <path...>: the package can be moved to another machine
    local prefix=$1
    shift
    if grep -rlF "${@/#/-e}" "$prefix" --include='*.cmake' --include='*.pc'; then
        echo "the installed package names paths of the machine it was built on"
        exit 1
    fi
}

modules() {  # modules <prefix>: prints the modules that pkg-config finds there
    find "$1" -name '*.pc' -printf '%f ' | tr ' ' '\n' | sort | tr '\n' ' '
}

by_pkg_config() {  # by_pkg_config <prefix> <module> <consumer> [options of pkg-config]
    local prefix=$1 module=$2 program=$3 pc
    shift 3
    echo "-- pkg-config $* $module"
    pc=$(find "$prefix" -name udtx.pc)
    # Word splitting is what turns the answer into arguments.
    # shellcheck disable=SC2046,SC2086
    "$compiler" -std=c++20 "$consumer/${program}_consumer.cpp" -o "$work/by_pkg_config" \
        $(PKG_CONFIG_PATH=${pc%/*} pkg-config --cflags --libs "$@" "$module") -pthread
    LD_LIBRARY_PATH=$(dirname "$(dirname "$pc")") "$work/by_pkg_config"
}
