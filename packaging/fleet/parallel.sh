#!/bin/sh
# Sends one tree with GNU parallel, the smallest engine: on this host, or on several hosts with --sshloginfile. The plan
# must have N shards:
#   udtx-send plan -N 8 SRC... >plan
#   parallel.sh 8 plan [flags] SRC... udtx://HOST:PORT/[subdir]
# A failing shard is tried three times. PARALLEL may contain flags for parallel.
# With --receipt FILE, each shard writes FILE.K, and they are merged into FILE at the end. FILE must be in a directory
# of all hosts.
shards=$1 plan=$2 receipt='' next=''
shift 2
for word; do
    shift
    case $next$word in
        next*) receipt=$word word=$word.{} next='' ;;
        --receipt) next=next ;;
        --receipt=*) receipt=${word#*=} word=$word.{} ;;
    esac
    set -- "$@" "$word"
done
[ -z "$receipt" ] || rm -f "$receipt"
seq 0 "$((shards - 1))" | parallel --will-cite --quote --retries 3 --halt never \
    udtx-send --shard "{}/$shards" --plan "$plan" "$@" || exit
[ -n "$receipt" ] || exit 0
set --
while [ $# -lt "$shards" ]; do set -- "$@" "$receipt.$#"; done
exec udtx-recv receipt merge "$receipt" "$@"
