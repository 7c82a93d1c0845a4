# One receiver serves several senders at once; a --one-off receiver serves one only.
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/dst"
start_recv r --dir "$work/dst" --psk-file "$work/psk"
senders=()
for i in 1 2 3 4 5 6; do
    head -c 4000000 /dev/urandom >"$work/f$i"
    timeout 240 "$send" --psk-file "$work/psk" "$work/f$i" "udtx://127.0.0.1:$port/" 2>"$work/s$i.err" &
    senders+=($!)
done
for pid in "${senders[@]}"; do wait_for 0 "$pid"; done
for i in 1 2 3 4 5 6; do cmp "$work/f$i" "$work/dst/f$i" || fail "f$i"; done
kill -TERM "$receiver"
wait_for 0 "$receiver"

# The first sender stays connected while its pipe is open.
start_recv once --one-off --dir "$work/dst" --psk-file "$work/psk"
mkfifo "$work/pipe"
"$send" --psk-file "$work/psk" - "udtx://127.0.0.1:$port/one/name" <"$work/pipe" 2>"$work/first.err" &
first=$!
receivers+=("$first")
exec 7>"$work/pipe"
echo begin >&7
until_true 90 test -d "$work/dst/one"
expect 11 "$send" --psk-file "$work/psk" "$work/f2" "udtx://127.0.0.1:$port/two"
said "one-off"
echo end >&7
exec 7>&-
wait_for 0 "$first"
wait_for 0 "$receiver"
[ "$(cat "$work/dst/one/name")" = "$(printf 'begin\nend')" ] || fail "the first sender's data"
[ ! -e "$work/dst/two" ] || fail "a --one-off receiver served two"
