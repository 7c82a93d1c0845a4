#!/usr/bin/env bash
# Tests that the check of includes finds each kind of breach at its line and accepts clean files.
set -euo pipefail
check=$(cd "$(dirname "$0")" && pwd)/tools_use_public_headers.sh
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/libudtx/include/udtx "$root"/libudtx/src/{io,udtx} "$root"/apps/{common,send} "$root"/examples
touch "$root"/libudtx/include/udtx/session.hpp "$root"/libudtx/src/io/driver.hpp "$root"/libudtx/src/udtx/inside.hpp \
    "$root"/apps/common/log.hpp

cat >"$root/apps/send/good.cpp" <<'CODE'
#include <sys/socket.h>
#include <vector>
#include "common/log.hpp"
#include "udtx/session.hpp"
// #include "io/driver.hpp"
CODE
printf '#include <boost/asio.hpp>\n#include <udtx/session.hpp>\n' >"$root/examples/good.cpp"
bash "$check" "$root" >/dev/null || { echo "a clean tree was refused"; exit 1; }

expect_breach() {  # expect_breach <file> <include>
    local report
    printf 'int a;\n%s\n' "$2" >"$root/$1"
    if report=$(bash "$check" "$root"); then
        echo "not found: $2 in $1"
        exit 1
    fi
    grep -q "^$1:2:" <<<"$report" || { echo "wrong place for: $2"; echo "$report"; exit 1; }
    [[ $report == *" 1 breaches" ]] || { echo "more was refused than $2"; echo "$report"; exit 1; }
    rm "$root/$1"
}
expect_breach apps/send/bad.cpp '#include "io/driver.hpp"'
expect_breach apps/send/bad.hpp ' #  include "io/driver.hpp"'
expect_breach apps/send/bad.cpp '#include <io/driver.hpp>'
expect_breach apps/send/bad.cpp '#include "udtx/inside.hpp"'
expect_breach apps/send/bad.cpp '#include <udtx/inside.hpp>'
expect_breach apps/send/bad.cpp '#include "common/gone.hpp"'
expect_breach apps/send/bad.cpp '#include "log.hpp"'
expect_breach apps/send/bad.cpp '#include "../common/log.hpp"'
expect_breach apps/send/bad.cpp '#include <common/../../libudtx/src/io/driver.hpp>'
expect_breach apps/send/bad.h '#include "../../libudtx/src/io/driver.hpp"'
expect_breach apps/send/bad.inc '#include "io/driver.hpp"'
expect_breach apps/send/bad '#include "io/driver.hpp"'
expect_breach apps/send/bad.cpp '#include "../../libudtx/src/io/driver.hpp"'
expect_breach apps/send/bad.cpp "#include <$root/libudtx/src/io/driver.hpp>"
expect_breach apps/send/bad.cpp '#include HEADER'
expect_breach examples/bad.h '#include "io/driver.hpp"'
expect_breach examples/bad.cpp '#include "io/driver.hpp"'
expect_breach examples/bad.cpp '#include "common/log.hpp"'
echo "every breach found"
