#!/usr/bin/env bash
# core_purity.sh <source root>: checks that the core's component directories ("rooms") and the public headers use no
# clock, random source, socket, file, logger or thread. It also checks that the rooms of the library include only rooms
# below them. (The rooms of the tools are targets, and a target cannot include rooms that it does not link.) Prints
# file:line of each breach. Exits with 1 if there is one.
set -uo pipefail
cd "$1" || exit 2

rooms=(base wire crypto recovery probing congestion path multipath stream proto)
clocks='steady_clock|system_clock|high_resolution_clock|utc_clock|::now\(|clock_gettime|gettimeofday|<ctime>|\btime\((NULL|nullptr|0)\)'
randomness='random_device|mt19937|minstd_rand|default_random_engine|\bs?rand\(|getrandom|getentropy|RAND_bytes'
sockets='boost/|asio::|openssl/|sys/|netinet/|arpa/|unistd\.h|poll\.h|<netdb'
files='<fstream>|<cstdio>|<iostream>|<stdio\.h>|fcntl\.h|\bfopen\(|getenv\('
paths='<filesystem>'
loggers='spdlog|<fmt/|syslog|std::cout|std::cerr|std::clog|\bf?printf\('
threads='<thread>|<condition_variable>|<future>|<semaphore>|std::j?thread|sleep_for|sleep_until|thread_local'
locks='<mutex>|<shared_mutex>|std::(recursive_|shared_)?mutex|base/thread_safety'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

directories=()
for directory in libudtx/include "${rooms[@]/#/libudtx/src/}"; do
    [ ! -d "$directory" ] || directories+=("$directory")
done
mapfile -t sources < <(find "${directories[@]}" -name '*.hpp' -o -name '*.cpp' | sort)
if [ "${#sources[@]}" -eq 0 ]; then
    echo "no sources below $1" >&2
    exit 2
fi

# Writes every line as file:line:code. Comments are removed, as they may name anything.
awk '{ sub(/\/\/.*/, ""); print FILENAME ":" FNR ":" $0 }' "${sources[@]}" >"$work/code"

search() {  # search <pattern> <what> [<files to leave out>]
    grep -E "^[^:]+:[0-9]+:.*($1)" "$work/code" | grep -vE "^(${3:-/})" | sed "s@\$@    [$2 in the core]@" >>"$work/breaches"
}
search "$clocks" clock
search "$randomness" randomness
search "$sockets" I/O 'libudtx/include/udtx/(transfer/)?async\.hpp'
search "$files" file
# Public headers may use std::filesystem::path for the names of key files and directories.
search "$paths" file libudtx/include/
search "$loggers" log
# An Asio transfer resolves names and connects on a thread next to its executor.
search "$threads" thread 'libudtx/include/udtx/transfer/async\.hpp|libudtx/src/base/thread_safety\.hpp'
# Programs cancel Session::connect with a stop token.
search '<stop_token>|std::stop_' thread 'libudtx/include/udtx/session\.hpp'
# The chunk pool is the only structure that disk threads share with the core. Asio's handlers may run on any thread.
search "$locks" lock 'libudtx/src/base/(chunk\.|thread_safety\.hpp)|libudtx/include/udtx/(transfer/)?async\.hpp'

# Installed headers include only installed headers. Asio's completion tokens have separate headers.
grep -E '^libudtx/include/[^:]+:[0-9]+: *# *include ("|<[^>]*[/.])' "$work/code" | grep -vE 'include "udtx/' |
    grep -vE '^libudtx/include/udtx/(transfer/)?async\.hpp:[0-9]+: *# *include <boost/' |
    sed 's/$/    [public headers include udtx\/... and the standard library]/' >>"$work/breaches"
# The core's headers must be usable without the layers above it.
below='udtx/(core/[a-z_]+|address|config|congestion|export|ids|lifecycle|log|path|rate|result|scheduler|stats|version)\.hpp'
grep -E '^libudtx/include/udtx/core/[^:]+:[0-9]+: *# *include "udtx/' "$work/code" | grep -vE "\"$below\"" |
    sed 's/$/    [against the direction of dependencies]/' >>"$work/breaches"

allowed() {  # allowed <room>: the rooms that it may include, as a regular expression
    case $1 in
        base) echo base ;;
        multipath) echo 'base|multipath' ;;
        wire) echo 'base|wire' ;;
        proto) (IFS='|'; echo "${rooms[*]}") ;;
        *) echo "base|wire|$1" ;;
    esac
}
for room in "${rooms[@]}"; do
    grep -E "^libudtx/src/$room/[^:]+:[0-9]+: *# *include *\"" "$work/code" | grep -vE "\"($below\"|($(allowed "$room"))/)" |
        sed 's/$/    [against the direction of dependencies]/' >>"$work/breaches"
done

against() {  # against <directory> <room> <prefix of includes> <rooms that it may not include>
    # A room includes all its subdirectories. Room "." means the files in the directory itself.
    local depth=()
    [ "$2" != . ] || depth=(-maxdepth 1)
    [ -d "$1/$2" ] || return 0
    find "$1/$2" "${depth[@]}" -name '*.?pp' -exec grep -nE "^ *# *include *\"($3($4)/|\.\./)" /dev/null {} + |
        sed 's/$/    [against the direction of dependencies]/' >>"$work/breaches"
}
in_order() {  # in_order <directory> <prefix of its includes> <rooms, each of which may include those before it>
    local directory=$1 prefix=$2 room
    shift 2
    while [ $# -gt 1 ]; do
        room=$1
        shift
        against "$directory" "$room" "$prefix" "$(IFS='|'; echo "$*")"
    done
}
all_named() {  # all_named <directory> <rooms>: reports rooms that have no place in the order
    local directory=$1 room
    for room in "$directory"/*/; do
        room=$(basename "$room")
        [ ! -d "$directory/$room" ] || [[ " $2 " == *" $room "* ]] ||
            echo "$directory/$room: no place in the order of rooms" >>"$work/breaches"
    done
}
transfers=(message file shard receipt source old landing job run serve)
all_named libudtx/src/transfer "${transfers[*]}"
in_order libudtx/src/transfer transfer/ . "${transfers[@]}"
# Families of controllers, each a file or a directory, do not include each other. The scavenger may include `udtx`, as it
# uses its measurements.
families=(udt window bbr udtx scavenger)
for family in "${families[@]}"; do
    others=" ${families[*]} "
    others=${others/ $family / }
    [ "$family" != scavenger ] || others=${others/ udtx / }
    [ ! -d libudtx/src/congestion ] || find libudtx/src/congestion -path "*/congestion/$family.?pp" -o -path "*/congestion/$family/*.?pp" | xargs grep -nE \
        "^ *# *include *\"(congestion/($(xargs <<<"$others" | tr ' ' '|'))[./]|\.\./)" /dev/null |
        sed 's/$/    [against the direction of dependencies]/' >>"$work/breaches"
done
for room in io os openssl; do against libudtx/src "$room" "" transfer; done

cat "$work/breaches"
echo "${#sources[@]} files, $(wc -l <"$work/breaches") breaches"
[ ! -s "$work/breaches" ]
