#!/usr/bin/env bash
# file_length.sh <source root>: checks that source files have at most 600 lines.
set -uo pipefail
cd "$1" || exit 2
long=$(find dev libudtx apps tests examples bench packaging \( -name '*.[ch]pp' -o -name '*.py' -o -name '*.sh' -o -name run -o -name dev -o -path '*/web/*' \) \
    -not -path '*/__pycache__/*' -not -path '*/target/*' -type f -exec wc -l {} + | awk '$1 > 600 && $2 != "total"')
[ -z "$long" ] || { echo "over 600 lines:"; echo "$long"; exit 1; }
