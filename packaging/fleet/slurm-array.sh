#!/bin/sh
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --ntasks=1
# Sends one tree with a Slurm array, one shard per task. Make the plan once, with as many shards as there are tasks:
#   udtx-send plan -N 8 SRC... >plan
#   sbatch --array=0-7 slurm-array.sh plan [flags] SRC... udtx://HOST:PORT/[subdir]
# Slurm requeues a task whose node dies, and the task continues. With RequeueExit=10,30 in slurm.conf, it also requeues
# a task that lost the network.
plan=$1
shift
exec udtx-send --shard auto --plan "$plan" "$@"
