# Shards by GNU parallel: a killed shard is started again and continues.
. "$(dirname "$0")/lib.sh"
command -v parallel >/dev/null && parallel --version 2>/dev/null | grep -q '^GNU parallel' || skip "there is no GNU parallel"
. "$(dirname "$0")/fleet_lib.sh"
# Two shards at a time. The first two have large files, so each of them has data when it is killed.
export PARALLEL=-j2
bash "$engines/parallel.sh" 8 "$plan" --psk-file "$work/psk" --rate 6M --receipt "$work/receipt" "$src" "udtx://127.0.0.1:$port/" >"$work/engine" 2>&1 &
engine=$!
receivers+=("$engine")
until_true 60 proven "$work/dst" 2
kill -KILL "$(pgrep -f "udtx-send --shard 0/8 --plan $plan" | tail -n 1)"
wait_for 0 "$engine"
all_came
expect 0 "$recv" verify "$work/receipt" "$work/dst"
[ "$(grep -c 'in [0-9.]* s' "$work/engine")" -eq 8 ] || fail "not eight shards: $(cat "$work/engine")"
# The killed shard found some of its data when it started again.
grep -q 'were there already' "$work/engine" || fail "nothing was continued: $(cat "$work/engine")"
