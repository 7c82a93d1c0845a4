#!/usr/bin/env bash
# core_purity.sh <source root>: the core's rooms and the public headers read no clock, random source, socket, file,
# logger or thread, and include only what lies below them; so do the rooms of the transfers and of the tools. Prints
# file:line of each breach; exit code 1 if there is one.
set -uo pipefail
cd "$1" || exit 2

rooms=(base wire crypto recovery congestion path multipath stream proto)
clocks='steady_clock|system_clock|high_resolution_clock|utc_clock|::now\(|clock_gettime|gettimeofday|<ctime>|\btime\((NULL|nullptr|0)\)'
randomness='random_device|mt19937|minstd_rand|default_random_engine|\bs?rand\(|getrandom|getentropy|RAND_bytes'
sockets='boost/|asio::|openssl/|sys/|netinet/|arpa/|unistd\.h|poll\.h|<netdb'
files='<fstream>|<cstdio>|<iostream>|<stdio\.h>|fcntl\.h|\bfopen\(|getenv\('
paths='<filesystem>'
loggers='spdlog|<fmt/|syslog|std::cout|std::cerr|std::clog|\bf?printf\('
threads='<thread>|<condition_variable>|<future>|<stop_token>|<semaphore>|std::j?thread|sleep_for|sleep_until|thread_local'
locks='<mutex>|<shared_mutex>|std::(recursive_|shared_)?mutex'

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

# Every line as file:line:code. Comments may name what the code may not.
awk '{ sub(/\/\/.*/, ""); print FILENAME ":" FNR ":" $0 }' "${sources[@]}" >"$work/code"

search() {  # search <pattern> <what> [<files to leave out>]
    grep -E "^[^:]+:[0-9]+:.*($1)" "$work/code" | grep -vE "^(${3:-/})" | sed "s@\$@    [$2 in the core]@" >>"$work/breaches"
}
search "$clocks" clock
search "$randomness" randomness
search "$sockets" I/O
search "$files" file
# An application names its key files and directories by std::filesystem::path.
search "$paths" file libudtx/include/
search "$loggers" log
search "$threads" thread
# The chunk pool is the one structure that disk threads share with the core.
search "$locks" lock 'libudtx/src/base/chunk\.'

allowed() {  # what a room may include
    case $1 in
        base) echo 'udtx|base' ;;
        multipath) echo 'udtx|base|multipath' ;;
        wire) echo 'udtx|base|wire' ;;
        proto) echo "udtx|$(IFS='|'; echo "${rooms[*]}")" ;;
        *) echo "udtx|base|wire|$1" ;;
    esac
}
for room in "${rooms[@]}"; do
    grep -E "^libudtx/src/$room/[^:]+:[0-9]+: *# *include *\"" "$work/code" | grep -vE "\"($(allowed "$room"))/" |
        sed 's/$/    [against the direction of dependencies]/' >>"$work/breaches"
done

in_order() {  # in_order <directory> <prefix of its includes> <rooms, each of which may include those before it>
    local directory=$1 prefix=$2 later room
    shift 2
    while [ $# -gt 1 ]; do
        room=$1
        shift
        later=$(IFS='|'; echo "$*")
        grep -nE "^ *# *include *\"$prefix($later)/" "$directory/$room"/*.?pp /dev/null 2>/dev/null |
            sed 's/$/    [against the direction of dependencies]/' >>"$work/breaches"
    done
}
# "." is what stands in the directory itself.
in_order libudtx/src/transfer transfer/ . message file resume pieces receipt source landing job
in_order apps "" common report observe control options ssh page dial doctor udtx-send udtx-recv

cat "$work/breaches"
echo "${#sources[@]} files, $(wc -l <"$work/breaches") breaches"
[ ! -s "$work/breaches" ]
