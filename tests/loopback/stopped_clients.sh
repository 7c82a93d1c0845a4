# Real clients that are stopped during a push or a pull, more of them than disk threads, delay no other client.
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/dst" "$work/small"
head -c 6000000 /dev/urandom >"$work/dst/big"
echo x >"$work/small/x"
start_recv r --dir "$work/dst" --psk-file "$work/psk" --allow-read
clients=()
for i in 1 2 3 4 5; do
    "$send" -q --rate 20M --psk-file "$work/psk" "$work/dst/big" "udtx://127.0.0.1:$port/push$i" 2>"$work/push$i.err" &
    clients+=($!)
    # Each pulls a file of its own, the last two as streams.
    mkdir "$work/pull$i"
    if [ "$i" -le 3 ]; then
        "$recv" -q --rate 20M --psk-file "$work/psk" "udtx://127.0.0.1:$port/big" "$work/pull$i" 2>"$work/pull$i.err" &
    else
        "$recv" -q --rate 20M --psk-file "$work/psk" "udtx://127.0.0.1:$port/big" - >"$work/pull$i/big" 2>"$work/pull$i.err" &
    fi
    clients+=($!)
done
receivers+=("${clients[@]}")
begun() {
    local i
    for i in 1 2 3 4 5; do
        [ -n "$(find "$work/dst/push$i" "$work/pull$i" -type f -size +0 2>/dev/null | head -n 1)" ] || return 1
    done
}
until_true 90 begun
for pid in "${clients[@]}"; do kill -STOP "$pid"; done
for _ in 1 2 3; do
    expect 0 timeout 20 "$send" --psk-file "$work/psk" "$work/small/" "udtx://127.0.0.1:$port/other"
    expect 0 timeout 20 "$recv" --psk-file "$work/psk" "udtx://127.0.0.1:$port/other/x" "$work/small"
done
for pid in "${clients[@]}"; do kill -CONT "$pid"; done
for pid in "${clients[@]}"; do wait_for 0 "$pid"; done
for i in 1 2 3 4 5; do
    cmp "$work/dst/big" "$work/dst/push$i/big" || fail "push $i"
    cmp "$work/dst/big" "$work/pull$i/big" || fail "pull $i"
done
