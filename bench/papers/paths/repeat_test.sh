#!/usr/bin/env bash
# repeat_test.sh UDTX_PAPERS_PATHS: checks that the same seed gives the same numbers and another seed others, and that
# both paths carry data.
set -euo pipefail
source "$(dirname "$0")/../repeat.sh"
repeats "$1" "json samples.csv" --line mbps=10,delay_ms=10 --line mbps=10,delay_ms=10,queue=2000 --seconds 4 \
    --cross line=1,from_s=1,to_s=3,peak_mbps=20,mean_mbps=12 --ramp line=0,from_s=2,to_s=3,delay_ms=30 \
    --errors line=0,from_s=1,to_s=2,rate=0.05
# Before the cross traffic starts, link 2 is full. Column 12 is its throughput.
awk -F, '$1 > 0.6 && $1 < 1 { sum += $12; n++ } END { exit !(n > 0 && sum / n > 5) }' "$work/a.samples.csv" ||
    { echo "the second path carried little"; exit 1; }
