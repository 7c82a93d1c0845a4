# One receiver serves several senders at once; a --one-off receiver serves one only.
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/dst"
start_recv r --dir "$work/dst" --psk-file "$work/psk"
senders=()
for i in 1 2 3 4 5 6; do
    head -c 4000000 /dev/urandom >"$work/f$i"
    timeout 90 "$send" --psk-file "$work/psk" "$work/f$i" "udtx://127.0.0.1:$port/" 2>"$work/s$i.err" &
    senders+=($!)
done
for pid in "${senders[@]}"; do wait_for 0 "$pid"; done
for i in 1 2 3 4 5 6; do cmp "$work/f$i" "$work/dst/f$i" || fail "f$i"; done
kill -TERM "$receiver"
wait_for 130 "$receiver"

start_recv once --one-off --dir "$work/dst" --psk-file "$work/psk"
timeout 60 "$send" --rate 8M --psk-file "$work/psk" "$work/f1" "udtx://127.0.0.1:$port/one" 2>"$work/first.err" &
first=$!
until_true 20 test -d "$work/dst/one"
got=0
timeout 60 "$send" --psk-file "$work/psk" "$work/f2" "udtx://127.0.0.1:$port/two" 2>"$work/last.err" || got=$?
[ "$got" -ne 0 ] || fail "a --one-off receiver served two"
said "one-off"
wait_for 0 "$first"
wait_for 0 "$receiver"
cmp "$work/f1" "$work/dst/one/f1"
[ ! -e "$work/dst/two" ] || fail "a --one-off receiver served two"
