# Shards by a Slurm array on four nodes, then by srun. If one node dies, its tasks run again elsewhere and continue.
. "$(dirname "$0")/lib.sh"
for command in slurmctld slurmd munged; do
    PATH=$PATH:/usr/sbin command -v $command >/dev/null || skip "there is no $command (Debian: slurm-wlm, munge)"
done
PATH=$PATH:/usr/sbin
. "$(dirname "$0")/fleet_lib.sh"
cluster=$(cd "$(dirname "$0")/../fleet" && pwd)/slurm-cluster
state=$work/slurm
end_cluster() {
    local status=$?
    bash "$cluster" down "$state" >/dev/null 2>&1 || true
    set +e
    (exit "$status")
    cleanup
}
trap end_cluster EXIT
bash "$cluster" up "$state" 4 $((20000 + RANDOM % 10000)) >"$work/up" 2>&1 || skip "no Slurm comes up here: $(tail -n 1 "$work/up")"
export SLURM_CONF=$state/slurm.conf
to="udtx://127.0.0.1:$port/"

sbatch -W -o "$work/out.%a" --array=0-7 "$engines/slurm-array.sh" "$plan" --psk-file "$work/psk" --rate 4M --timeout 60 \
    "$src" "$to" >"$work/sbatch" 2>&1 &
batch=$!
receivers+=("$batch")
# The first shards have the large files; two tasks run on each node.
until_true 120 proven "$work/dst" 4
bash "$cluster" kill "$state" n2
wait_for 0 "$batch"
all_came
# A task that ran twice logs the data that it did not send again.
grep -lq 'were there already' "$work"/out.* || fail "no task continued: $(cat "$work"/out.*)"

rm -r "$work/dst/tree"
bash "$cluster" start "$state" n2
expect 0 sbatch -W -o "$work/srun.out" --ntasks=8 "$engines/slurm-srun.sh" "$plan" --psk-file "$work/psk" "$src" "$to"
all_came
[ "$(grep -c 'in [0-9.]* s' "$work/srun.out")" -eq 8 ] || fail "not eight shards: $(cat "$work/srun.out")"
