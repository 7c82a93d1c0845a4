#!/usr/bin/env bash
# core_purity.sh <source root>: the core's rooms and the public headers read no clock, random source, socket, file,
# logger or thread, and include only what lies below them. Prints file:line of each breach; exit code 1 if there is one.
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
breaches=0

# Comments may name what the code may not.
code() { sed -E 's@//.*$@@' "$1"; }

search() {  # search <pattern> <what> <file>
    local hits
    hits=$(code "$3" | grep -nE "$1") || return 0
    while IFS= read -r hit; do
        echo "$3:$hit    [$2 in the core]"
        breaches=$((breaches + 1))
    done <<<"$hits"
}

# A room may include itself and these.
allowed() {
    case $1 in
        base) echo 'udtx|base' ;;
        wire) echo 'udtx|base|wire' ;;
        proto) echo "udtx|$(IFS='|'; echo "${rooms[*]}")" ;;
        *) echo "udtx|base|wire|$1" ;;
    esac
}

check_includes() {  # check_includes <room> <file>
    local hits
    hits=$(code "$2" | grep -nE '^ *# *include *"' | grep -vE "\"($(allowed "$1"))/") || return 0
    while IFS= read -r hit; do
        echo "$2:$hit    [against the direction of dependencies]"
        breaches=$((breaches + 1))
    done <<<"$hits"
}

check_file() {
    search "$clocks" clock "$1"
    search "$randomness" randomness "$1"
    search "$sockets" I/O "$1"
    search "$files" file "$1"
    case $1 in
        # An application names its key files and directories by std::filesystem::path.
        libudtx/include/*) ;;
        *) search "$paths" file "$1" ;;
    esac
    search "$loggers" log "$1"
    search "$threads" thread "$1"
    case $1 in
        # The chunk pool is the one structure that disk threads share with the core.
        libudtx/src/base/chunk.*) ;;
        *) search "$locks" lock "$1" ;;
    esac
}

files_seen=0
for directory in libudtx/include "${rooms[@]/#/libudtx/src/}"; do
    [ -d "$directory" ] || continue
    while IFS= read -r file; do
        files_seen=$((files_seen + 1))
        check_file "$file"
        case $directory in
            libudtx/src/*) check_includes "${directory##*/}" "$file" ;;
        esac
    done < <(find "$directory" -name '*.hpp' -o -name '*.cpp' | sort)
done

if [ "$files_seen" -eq 0 ]; then
    echo "no sources below $1" >&2
    exit 2
fi
echo "$files_seen files, $breaches breaches"
[ "$breaches" -eq 0 ]
