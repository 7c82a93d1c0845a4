#!/bin/sh
# Sends one tree with GNU parallel, the smallest engine: on this host, or on several hosts with --sshloginfile. The plan
# must have N shards:
#   udtx-send plan -N 8 SRC... >plan
#   parallel.sh 8 plan [flags] SRC... udtx://HOST:PORT/[subdir]
# A failing shard is tried three times. PARALLEL may contain flags for parallel.
shards=$1 plan=$2
shift 2
seq 0 "$((shards - 1))" | parallel --will-cite --quote --retries 3 --halt never \
    udtx-send --shard "{}/$shards" --plan "$plan" "$@"
