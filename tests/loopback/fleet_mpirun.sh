# Shards by MPI: a rank that dies ends all ranks. Run again, they continue.
. "$(dirname "$0")/lib.sh"
command -v mpirun >/dev/null || skip "there is no mpirun"
. "$(dirname "$0")/fleet_lib.sh"
export MPIRUN="--oversubscribe"
[ "$(id -u)" -ne 0 ] || MPIRUN+=" --allow-run-as-root"
to="udtx://127.0.0.1:$port/"
bash "$engines/mpirun.sh" 8 "$plan" --psk-file "$work/psk" --rate 4M "$src" "$to" >"$work/engine" 2>&1 &
engine=$!
receivers+=("$engine")
until_true 120 proven "$work/dst"
kill -KILL "$(pgrep -f "^udtx-send --shard auto --plan $plan" | head -n 1)"
ended() { ! kill -0 "$engine" 2>/dev/null; }
until_true 60 ended
[ ! -e "$work/dst/tree/large/80" ] || ! diff -rq "$src" "$work/dst/tree" >/dev/null || fail "it was over before the kill"
expect 0 bash "$engines/mpirun.sh" 8 "$plan" --psk-file "$work/psk" --json "$src" "$to"
grep -qE '"resumed_bytes": ?[1-9]' "$work/last.out" || fail "nothing was continued"
all_came
