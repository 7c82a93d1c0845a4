#!/usr/bin/env bash
# repeat_test.sh UDTX_PAPERS: the same seed gives the same numbers, another seed others.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cell=(--flows 2 --join-every-s 1 --seconds 4 --cross-mbps 50 --cross-from-s 1.5 --queue-packets 100)
"$1" "${cell[@]}" --seed 7 --out "$work/a" >"$work/a.json"
"$1" "${cell[@]}" --seed 7 --out "$work/b" >"$work/b.json"
"$1" "${cell[@]}" --seed 8 --out "$work/c" >"$work/c.json"
for kind in json samples.csv seconds.csv; do
    cmp "$work/a.$kind" "$work/b.$kind" || { echo "seed 7 gave two results"; exit 1; }
done
if cmp -s "$work/a.samples.csv" "$work/c.samples.csv"; then
    echo "seeds 7 and 8 gave the same result"
    exit 1
fi
grep -q '"intact":true' "$work/a.json" || { echo "bytes arrived damaged"; exit 1; }
