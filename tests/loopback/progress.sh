# Progress when it is asked for, and a name with escapes never reaches the screen as it is.
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/dst"
name=$work/$(printf 'x\033[31m\n.bin')
head -c 4000000 /dev/urandom >"$name"
start_recv r --one-off --dir "$work/dst" --psk-file "$work/psk"
expect 0 "$send" -v --progress --log "$work/file-log" --rate 16M --psk-file "$work/psk" "$name" "udtx://127.0.0.1:$port/"
wait_for 0 "$receiver"
said "% +.*MB/4.00 MB.*bit/s.*files"
said "^udtx-send: 1 file, 4.00 MB in"
said "lost [0-9]+ of .*RTT .*udt"
grep -q 'udtx-send.*1 file' "$work/file-log" || fail "--log"
! grep -q "$(printf '\033')" "$work/last.err" || fail "an escape sequence reached the terminal"

echo x >"$work/small"
start_recv second --one-off --dir "$work/dst" --psk-file "$work/psk"
expect 0 "$send" -q --psk-file "$work/psk" "$work/small" "udtx://127.0.0.1:$port/"
[ ! -s "$work/last.err" ] && [ ! -s "$work/last.out" ] || fail "-q is not quiet"
