#!/bin/sh
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --ntasks=8
# Sends one tree with one Slurm job of several tasks, one shard per task. The plan must have as many shards as tasks:
#   udtx-send plan -N 8 SRC... >plan
#   sbatch --ntasks=8 slurm-srun.sh plan [flags] SRC... udtx://HOST:PORT/[subdir]
# Slurm requeues the whole job if a node dies, and with RequeueExit=10,30 in slurm.conf also if a shard loses the
# network. The job then sends only the missing data.
# With --receipt FILE, each shard writes FILE.K, and they are merged into FILE at the end.
plan=$1 receipt='' next=''
shift
for word; do
    case $next$word in
        next*) receipt=$word next='' ;;
        --receipt) next=next ;;
        --receipt=*) receipt=${word#*=} ;;
    esac
done
[ -n "$receipt" ] || exec srun --kill-on-bad-exit=0 udtx-send --shard auto --plan "$plan" "$@"
rm -f "$receipt"
srun --kill-on-bad-exit=0 udtx-send --shard auto --plan "$plan" "$@" || exit
set --
while [ $# -lt "$SLURM_NTASKS" ]; do set -- "$@" "$receipt.$#"; done
exec udtx-recv receipt merge "$receipt" "$@"
