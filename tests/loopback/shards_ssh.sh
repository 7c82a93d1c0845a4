# Shards over ssh, pushed and pulled: each starts its own far end, and a killed shard continues.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/ssh_lib.sh"
start_sshd
home=$work/far-home
src=$work/src
mkdir -p "$home" "$src/sub" "$work/out"
far_program recv "cd '$home' && export HOME='$home' && exec '$recv' \"\$@\""
far_program send "cd '$home' && export HOME='$home' && exec '$send' \"\$@\""
for i in $(seq 60); do head -c $((i * 5000)) /dev/urandom >"$src/$i"; done
head -c 3000000 /dev/urandom >"$src/sub/it's \"large\""
plan=$work/plan
expect 0 "$send" plan -N 3 "$src"
cp "$work/last.out" "$plan"

# run TOOL ARGS...: runs all shards at once; each has to end with 0.
run() {
    local shards=() k code
    for k in 0 1 2; do
        "$@" --shard $k/3 --plan "$plan" >"$work/shard.$k" 2>&1 &
        shards+=($!)
    done
    for k in 0 1 2; do
        code=0
        wait "${shards[k]}" || code=$?
        [ $code -eq 0 ] || fail "shard $k ended with $code: $(cat "$work/shard.$k")"
    done
}
run "$send" -a "${ssh[@]}" --remote-bin "$work/recv" "$src" far:new/deep/
diff -r "$src" "$home/new/deep/src" || fail "sent over ssh"
run "$recv" -a "${ssh[@]}" --remote-bin "$work/send" far:new/deep/src "$work/out/made/"
diff -r "$src" "$work/out/made/src" || fail "fetched over ssh"

# --- killed at this end and run again
"$send" -a "${ssh[@]}" --remote-bin "$work/recv" --rate 4M --shard 2/3 --plan "$plan" "$src" far:killed/ >/dev/null 2>&1 &
killed=$!
receivers+=("$killed")
until_true 120 proven "$home/killed"
kill -KILL "$killed"
wait_for 137 "$killed"
run "$send" -a "${ssh[@]}" --remote-bin "$work/recv" --json "$src" far:killed/
diff -r "$src" "$home/killed/src" || fail "killed and run again"
grep -qE '"resumed_bytes": ?[1-9]' "$work/shard.2" || fail "nothing was continued: $(cat "$work/shard.2")"
[ -z "$(find "$home" "$work/out" -name '.udtx-*')" ] || fail "left behind: $(find "$home" "$work/out" -name '.udtx-*')"

# --- one large file; each shard and each far end has a part of it
mkdir "$work/big"
head -c 30000000 /dev/urandom >"$work/big/large"
expect 0 "$send" plan -N 3 "$work/big"
cp "$work/last.out" "$plan"
grep -q $'big/large\t' "$plan" || fail "the file is not cut: $(cat "$plan")"
run "$send" -a "${ssh[@]}" --remote-bin "$work/recv" --job-rate 1G "$work/big" far:parts/
diff -r "$work/big" "$home/parts/big" || fail "parts sent over ssh"
run "$recv" -a "${ssh[@]}" --remote-bin "$work/send" far:parts/big "$work/out/parts/"
diff -r "$work/big" "$work/out/parts/big" || fail "parts fetched over ssh"
[ -z "$(find "$home/parts" "$work/out/parts" -name '.udtx-*')" ] || fail "the parts left something behind"
