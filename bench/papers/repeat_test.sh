#!/usr/bin/env bash
# repeat_test.sh UDTX_PAPERS: checks that the same seed gives the same numbers and another seed others.
set -euo pipefail
source "$(dirname "$0")/repeat.sh"
repeats "$1" "json samples.csv seconds.csv" --flows 2 --join-every-s 1 --seconds 4 --cross-mbps 50 --cross-from-s 1.5 \
    --queue-packets 100
