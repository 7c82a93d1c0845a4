#!/bin/sh
# Sends one tree with MPI, one shard per rank. The plan must have as many shards as there are ranks:
#   udtx-send plan -N 8 SRC... >plan
#   mpirun.sh 8 plan [flags] SRC... udtx://HOST:PORT/[subdir]
# If a rank dies, all ranks end. Run it again; it sends only the missing data. MPIRUN may contain flags for mpirun.
# With --receipt FILE, each rank writes FILE.K, and they are merged into FILE at the end.
ranks=$1 plan=$2 receipt='' next=''
shift 2
for word; do
    case $next$word in
        next*) receipt=$word next='' ;;
        --receipt) next=next ;;
        --receipt=*) receipt=${word#*=} ;;
    esac
done
# shellcheck disable=SC2086
[ -n "$receipt" ] || exec mpirun ${MPIRUN:-} -n "$ranks" udtx-send --shard auto --plan "$plan" "$@"
rm -f "$receipt"
# shellcheck disable=SC2086
mpirun ${MPIRUN:-} -n "$ranks" udtx-send --shard auto --plan "$plan" "$@" || exit
set --
while [ $# -lt "$ranks" ]; do set -- "$@" "$receipt.$#"; done
exec udtx-recv receipt merge "$receipt" "$@"
