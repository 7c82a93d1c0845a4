#!/bin/sh
# One tree by MPI, a shard a rank. The plan is for as many shards as there are ranks:
#   udtx-send plan -N 8 SRC... >plan
#   mpirun.sh 8 plan [flags] SRC... udtx://HOST:PORT/[subdir]
# One rank that dies ends all the others: run it again, what has arrived is not sent again. MPIRUN has flags for mpirun.
ranks=$1 plan=$2
shift 2
# shellcheck disable=SC2086
exec mpirun ${MPIRUN:-} -n "$ranks" udtx-send --shard auto --plan "$plan" "$@"
