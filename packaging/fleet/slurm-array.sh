#!/bin/sh
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --ntasks=1
# One tree by a Slurm array, a shard a task. The plan is made once, for as many shards as there are tasks:
#   udtx-send plan -N 8 SRC... >plan
#   sbatch --array=0-7 slurm-array.sh plan [flags] SRC... udtx://HOST:PORT/[subdir]
# A task whose node dies is queued again and continues. With RequeueExit=10,30 in slurm.conf so is one that lost the network.
plan=$1
shift
exec udtx-send --shard auto --plan "$plan" "$@"
