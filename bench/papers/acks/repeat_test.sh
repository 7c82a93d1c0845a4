#!/usr/bin/env bash
# repeat_test.sh UDTX_PAPERS_ACKS: checks that the same seed gives the same numbers and another seed others, and that
# regeneration makes acknowledgements, none of which a higher one overtakes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for scheme in normal ar dar udtx; do
    for run in a:7 b:7 c:8; do
        "$1" --scheme $scheme --bit-errors 1e-6 --seconds 10 --seed "${run#*:}" >"$work/$scheme.${run%:*}"
    done
    cmp "$work/$scheme.a" "$work/$scheme.b" || { echo "$scheme: seed 7 gave two results"; exit 1; }
    cmp -s <(cut -d, -f5- "$work/$scheme.a") <(cut -d, -f5- "$work/$scheme.c") &&
        { echo "$scheme: seeds 7 and 8 gave the same result"; exit 1; }
done
for scheme in ar dar; do
    ! grep -q '"made": 0,' "$work/$scheme.a" || { echo "$scheme: nothing was made anew"; exit 1; }
done
grep -q '"overtaken": 0,' "$work/dar.a" || { echo "an acknowledgement was overtaken"; exit 1; }
