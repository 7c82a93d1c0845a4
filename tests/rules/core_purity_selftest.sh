#!/usr/bin/env bash
# Tests that the purity check finds each kind of breach at its line, and accepts comments and clean files.
set -euo pipefail
check=$(cd "$(dirname "$0")" && pwd)/core_purity.sh
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/libudtx/include/udtx" "$root/libudtx/src/base" "$root/libudtx/src/wire" "$root/libudtx/src/io"

echo '// never calls steady_clock::now()' >"$root/libudtx/include/udtx/time.hpp"
printf '#include <mutex>\n' >"$root/libudtx/src/base/chunk.cpp"
printf '#include <thread>\nauto t = std::chrono::steady_clock::now();\n' >"$root/libudtx/src/io/driver.cpp"
bash "$check" "$root" >/dev/null || { echo "a clean tree was refused"; exit 1; }

expect_breach() {  # expect_breach <line of code>
    printf 'int a;\n%s\n' "$1" >"$root/libudtx/src/wire/bad.cpp"
    local report
    if report=$(bash "$check" "$root"); then
        echo "not found: $1"
        exit 1
    fi
    grep -q '^libudtx/src/wire/bad.cpp:2:' <<<"$report" || { echo "wrong place for: $1"; echo "$report"; exit 1; }
}
expect_breach 'auto t = std::chrono::steady_clock::now();'
expect_breach 'auto t = std::chrono::system_clock::time_point{};'
expect_breach 'auto t = Clock::now();'
expect_breach 'std::random_device seed;'
expect_breach 'std::mt19937_64 rng(1);'
expect_breach '#include <boost/asio.hpp>'
expect_breach '#include <openssl/ssl.h>'
expect_breach '#include <sys/socket.h>'
expect_breach '#include <fstream>'
expect_breach '#include <filesystem>'
expect_breach '#include <spdlog/spdlog.h>'
expect_breach 'std::cerr << 1;'
expect_breach '#include <thread>'
expect_breach 'std::mutex lock;'
expect_breach '#include "io/driver.hpp"'
expect_breach '#include "stream/send_stream.hpp"'
expect_breach '#include "udtx/system.hpp"'
rm "$root/libudtx/src/wire/bad.cpp"
expect_public() {  # expect_public <file> <include>: a public header with a forbidden include
    mkdir -p "$(dirname "$root/libudtx/include/udtx/$1")"
    printf '#include %s\n' "$2" >"$root/libudtx/include/udtx/$1"
    if bash "$check" "$root" >/dev/null; then echo "$1 may not include $2"; exit 1; fi
    rm "$root/libudtx/include/udtx/$1"
}
expect_public bad.hpp '"proto/connection_impl.hpp"'
expect_public core/bad.hpp '"base/containers.hpp"'
expect_public core/bad.hpp '"udtx/session.hpp"'
expect_public bad.hpp '<boost/asio/post.hpp>'
expect_public async.hpp '<openssl/ssl.h>'
printf '#include <boost/asio/async_result.hpp>\n#include "udtx/session.hpp"\n' >"$root/libudtx/include/udtx/async.hpp"
bash "$check" "$root" >/dev/null || { echo "asynchronous calls were refused"; exit 1; }
mkdir "$root/libudtx/src/multipath"
printf '#include "wire/frame.hpp"\n' >"$root/libudtx/src/multipath/bad.cpp"
if bash "$check" "$root" >/dev/null; then echo "multipath may not know wire"; exit 1; fi
rm "$root/libudtx/src/multipath/bad.cpp"
expect_against() {  # expect_against <file> <include>: a room that includes a forbidden room
    mkdir -p "$(dirname "$root/$1")"
    printf '#include "%s"\n' "$2" >"$root/$1"
    if bash "$check" "$root" >/dev/null; then echo "$1 may not include $2"; exit 1; fi
    rm "$root/$1"
}
expect_against libudtx/src/transfer/bad.cpp transfer/job/send_job.hpp
expect_against libudtx/src/transfer/source/bad.cpp transfer/landing/tree_writer.hpp
expect_against libudtx/src/io/bad.cpp transfer/names.hpp
expect_against libudtx/src/congestion/udtx/bad.cpp congestion/bbr.hpp
printf '#include "transfer/message/messages.hpp"\n' >"$root/libudtx/src/transfer/source/good.cpp"
bash "$check" "$root" >/dev/null || { echo "a room may know an earlier one"; exit 1; }
mkdir "$root/libudtx/src/transfer/attic"
if bash "$check" "$root" >/dev/null; then echo "a room without a place in the order"; exit 1; fi
echo "every breach found"
