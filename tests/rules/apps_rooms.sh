#!/usr/bin/env bash
# apps_rooms.sh <source root> <compiler> <include directories of apps/common, separated by ;> <those of apps/connect>:
# checks that a component ("room") of the tools can include only public headers and the rooms that its target links.
# Exits with 1 if it can include others.
set -uo pipefail
apps=$1/apps compiler=$2 of_common=$3 of_connect=$4

includes() {  # includes <directories> <header>: succeeds if a source with these directories can include the header
    local flags=() directories
    IFS=';' read -ra directories <<<"$1"
    for directory in "${directories[@]}"; do flags+=(-I "$directory"); done
    echo "#include \"$2\"" | "$compiler" -std=c++20 "${flags[@]}" -x c++ -M - >/dev/null 2>&1
}
failed=0
includes "$of_common" common/text.hpp || { echo "common cannot include its own header"; failed=1; }
includes "$of_connect" ssh/ssh_child.hpp || { echo "connect cannot include ssh, which it links"; failed=1; }
includes "$of_connect" udtx/session.hpp || { echo "connect cannot include a public header"; failed=1; }
! includes "$of_connect" io/driver.hpp || { echo "connect could include what is private to the library"; failed=1; }
! includes "$of_common" ssh/ssh_child.hpp || { echo "common could include ssh, which it does not link"; failed=1; }
! includes "$of_connect" serve/server_run.hpp || { echo "connect could include serve, which it does not link"; failed=1; }
# Relative includes would bypass the targets.
if grep -rnE --include='*.?pp' '^ *# *include *"\.\./' "$apps"; then failed=1; fi
exit $failed
