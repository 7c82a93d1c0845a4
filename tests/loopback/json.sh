# --json: one object with all fields, whose figures agree with each other and with those of the other side.
. "$(dirname "$0")/lib.sh"
make_key
mkdir -p "$work/dst" "$work/src/d/empty"
head -c 5000000 /dev/urandom >"$work/src/a"
head -c 1234567 /dev/urandom >"$work/src/d/b"
ln -s a "$work/src/l"
bad=$work/$(printf 'b\n\377"\\')
start_recv r --one-off --json --dir "$work/dst" --psk-file "$work/psk"
expect 23 "$send" --json --psk-file "$work/psk" "$work/src" "$bad" "udtx://127.0.0.1:$port/"
wait_for 23 "$receiver"
sent=$work/last.out
for field in bytes files sent_bytes seconds goodput_bps retransmitted_packets lost_packets rtt_ms mtr_bps cc; do
    json_field "$sent" $field >/dev/null || fail "the sender's object has no $field"
    json_field "$work/r.out" $field >/dev/null || fail "the receiver's object has no $field"
done
is() { [ "$(json_field "$1" "$2")" = "$3" ] || fail "$2 is $(json_field "$1" "$2"), not $3"; }
for report in "$sent" "$work/r.out"; do
    is "$report" bytes 6234567
    is "$report" sent_bytes 6234567
    is "$report" files 2
    is "$report" symlinks 1
    is "$report" cc '"udtx"'
    is "$report" confirmed true
done
for report in "$sent" "$work/r.out"; do
    is "$report" exit_code 23
    is "$report" status '"partial"'
    is "$report" failed_count 1
done
grep -q 'sender: .*No such file' "$work/r.log" || fail "the receiver does not name what is missing at the sender"
json_field "$sent" failed | grep -q '"path_hex":"' || fail "a name that is not UTF-8 needs path_hex"
[ "$(wc -l <"$sent")" -eq 1 ] || fail "more than one line"
[ "$(wc -l <"$work/r.out")" -eq 1 ] || fail "more than one line"
# goodput_bps = 8 * sent_bytes / seconds
awk -v s="$(json_field "$sent" seconds)" -v g="$(json_field "$sent" goodput_bps)" \
    'BEGIN { q = g * s / (8 * 6234567); exit !(q > 0.99 && q < 1.01) }' || fail "goodput does not fit"

# A line of text has a limit, and the object has the whole path.
level=$(printf 'n%.0s' $(seq 200))
deep=$work/src/$(for _ in $(seq 15); do printf '%s/' "$level"; done)end
start_recv deep --dir "$work/dst" --psk-file "$work/psk"
expect 23 "$send" --json --psk-file "$work/psk" "$work/src/a" "$deep" "$deep.2" "udtx://127.0.0.1:$port/"
[ "$(wc -L <"$work/last.err")" -le 520 ] || fail "a line of $(wc -L <"$work/last.err") characters"
said "nnn\.\.\.nnn.*end\.2: No such file"
json_field "$work/last.out" failed | grep -qF "\"$deep.2\"" || fail "the object does not have the whole path"
