#!/bin/sh
# Sends one tree with MPI, one shard per rank. The plan must have as many shards as there are ranks:
#   udtx-send plan -N 8 SRC... >plan
#   mpirun.sh 8 plan [flags] SRC... udtx://HOST:PORT/[subdir]
# If a rank dies, all ranks end. Run it again; it sends only the missing data. MPIRUN may contain flags for mpirun.
ranks=$1 plan=$2
shift 2
# shellcheck disable=SC2086
exec mpirun ${MPIRUN:-} -n "$ranks" udtx-send --shard auto --plan "$plan" "$@"
