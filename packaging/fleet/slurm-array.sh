#!/bin/sh
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --ntasks=1
# Sends one tree with a Slurm array, one shard per task. Make the plan once, with as many shards as there are tasks:
#   udtx-send plan -N 8 SRC... >plan
#   sbatch --array=0-7 slurm-array.sh plan [flags] SRC... udtx://HOST:PORT/[subdir]
# Slurm requeues a task whose node dies, and the task continues. With RequeueExit=10,30 in slurm.conf, it also requeues
# a task that lost the network.
# With --receipt FILE, each task writes FILE.JOB.K, and the last one merges them into FILE: the tree is complete if FILE
# exists. The tasks need a common directory for that.
plan=$1 receipt='' next=''
shift
for word; do
    shift
    case $next$word in
        next*) receipt=$word word=$word.$SLURM_ARRAY_JOB_ID next='' ;;
        --receipt) next=next ;;
        --receipt=*) receipt=${word#*=} word=$word.$SLURM_ARRAY_JOB_ID ;;
    esac
    set -- "$@" "$word"
done
[ -n "$receipt" ] || exec udtx-send --shard auto --plan "$plan" "$@"
rm -f "$receipt"
udtx-send --shard auto --plan "$plan" "$@" || exit
set --
while [ $# -lt "$SLURM_ARRAY_TASK_COUNT" ]; do
    [ -e "$receipt.$SLURM_ARRAY_JOB_ID.$#" ] || exit 0
    set -- "$@" "$receipt.$SLURM_ARRAY_JOB_ID.$#"
done
exec udtx-recv receipt merge "$receipt" "$@"
