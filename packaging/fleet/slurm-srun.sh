#!/bin/sh
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --ntasks=8
# One tree by one Slurm job of several tasks, a shard a task. The plan is for as many shards as there are tasks:
#   udtx-send plan -N 8 SRC... >plan
#   sbatch --ntasks=8 slurm-srun.sh plan [flags] SRC... udtx://HOST:PORT/[subdir]
# The whole job is queued again when a node dies, and with RequeueExit=10,30 in slurm.conf when a shard lost the network. What has
# arrived is not sent again.
plan=$1
shift
exec srun --kill-on-bad-exit=0 udtx-send --shard auto --plan "$plan" "$@"
