#!/usr/bin/env bash
# documentation_test.sh <source dir>: Doxygen reads every public header without a warning.
set -euo pipefail
cd "$1"
if ! command -v doxygen >/dev/null; then
    echo "SKIPPED: no doxygen here (Debian: doxygen)"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cat docs/Doxyfile && echo "OUTPUT_DIRECTORY = $work") | doxygen -
while IFS= read -r header; do
    [ -n "$(find "$work/html" -name "$(basename "$header" .hpp | sed 's/_/__/g')_8hpp.html")" ] ||
        { echo "the reference has no page of $header"; exit 1; }
done < <(find libudtx/include -name '*.hpp')
