# Ctrl-C on either side ends both within 2 s with code 130; a long-running receiver goes on.
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/dst"
head -c 20000000 /dev/urandom >"$work/big"
limit_ms=3000  # 2 s, and room for a busy machine

start_send() {
    timeout -k 5 60 "$send" --rate 8M --json --psk-file "$work/psk" "$work/big" "udtx://127.0.0.1:$port/" \
        >"$work/send.out" 2>"$work/last.err" &
    sender=$!
    receivers+=("$sender")
    until_true 20 moving
}
moving() { [ -n "$(find "$work/dst" -type f -size +100k)" ]; }
now_ms() { echo $(($(date +%s%N) / 1000000)); }
in_time() { local took=$(($(now_ms) - begun)); [ "$took" -le "$limit_ms" ] || fail "$1 took $took ms"; }
nothing_final() { [ ! -e "$work/dst/big" ] || fail "an incomplete file has its final name"; }

# Sender interrupted. `timeout` hands signals on to its child.
start_recv once --one-off --dir "$work/dst" --psk-file "$work/psk"
start_send
begun=$(now_ms)
kill -INT "$sender"
wait_for 130 "$sender"
wait_for 130 "$receiver"
in_time "interrupting the sender"
said "interrupted by SIGINT.*not delivered"
grep -q "interrupted" "$work/once.log" || fail "the receiver does not say why it ended"
[ "$(json_field "$work/send.out" exit_code)" -eq 130 ] || fail "exit_code in JSON"
nothing_final

# Receiver interrupted.
start_recv second --one-off --dir "$work/dst" --psk-file "$work/psk"
start_send
begun=$(now_ms)
kill -TERM "$receiver"
wait_for 130 "$receiver"
wait_for 130 "$sender"
in_time "interrupting the receiver"
grep -q "interrupted by SIGTERM" "$work/second.log" || fail "the receiver does not say it was interrupted"
said "interrupted.*not delivered"
nothing_final
[ -z "$(find "$work/dst" -type f)" ] || fail "temporary files were left behind"

# A long-running receiver survives its senders.
start_recv server --dir "$work/dst" --psk-file "$work/psk"
start_send
kill -HUP "$sender"
wait_for 130 "$sender"
echo small >"$work/file"
expect 0 "$send" --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/"
cmp "$work/file" "$work/dst/file" || fail "the receiver did not survive"
begun=$(now_ms)
kill -INT "$receiver"
wait_for 130 "$receiver"
in_time "stopping an idle receiver"
nothing_final
