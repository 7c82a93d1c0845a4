# No receiver, no answer, no writable destination: each has its own code and message.
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/dst"
echo x >"$work/file"

start_recv gone --dir "$work/dst" --psk-file "$work/psk"
kill -KILL "$receiver"
wait_for 137 "$receiver"
expect 10 "$send" --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/"
said "nothing answers on 127.0.0.1:$port/udp.*udtx-recv"
expect 10 "$send" --json --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/"
for field in "confirmed false" "limited_by null" "limits {}" "bytes 0"; do
    [ "$(json_field "$work/last.out" "${field% *}")" = "${field#* }" ] || fail "without a connection $field is expected: $(cat "$work/last.out")"
done
expect 10 "$send" --path 127.0.0.1 --path 127.0.0.2 --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/"
said "nothing answers on 127.0.0.1:$port/udp.*udtx-recv"

expect 10 "$send" --path 127.0.0.1,127.0.0.3 --path 127.0.0.2 --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/"
said "nothing answers on 127.0.0.3:$port/udp, 127.0.0.1:$port/udp: start udtx-recv"

# A stopped receiver looks like a firewall that drops everything.
start_recv silent --dir "$work/dst" --psk-file "$work/psk"
kill -STOP "$receiver"
expect 42 "$send" --timeout 1 --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/"
said "blocked"
expect 42 "$send" --probe-only --json --timeout 1 --psk-file "$work/psk" "udtx://127.0.0.1:$port/"
[ "$(json_field "$work/last.out" limited_by)" = null ] || fail "a limit of a line that nothing came through: $(cat "$work/last.out")"
for field in reached_bps cipher cc; do
    [ "$(json_field "$work/last.out" "$field")" = null ] || fail "$field of nothing: $(cat "$work/last.out")"
done
kill -CONT "$receiver"

expect 10 "$send" --psk-file "$work/psk" "$work/file" "udtx://no-such-host.invalid:7011/"
said "no-such-host.invalid"
expect 10 "$recv" --listen "127.0.0.1:$port" --dir "$work/dst" --psk-file "$work/psk"
said "127.0.0.1:$port"
expect 11 "$recv" --listen 127.0.0.1:0 --dir "$work/none" --psk-file "$work/psk"
said "$work/none"
expect 11 "$recv" --listen 127.0.0.1:0 --dir "$work/file" --psk-file "$work/psk"
said "$work/file"
# The far end has another version: the versions of the protocol do not match.
printf '#!/bin/sh\necho "udtx-bootstrap 1 0.0.1 1"\n' >"$work/old"
chmod +x "$work/old"
expect 12 "$send" --ssh "$work/old" "$work/file" far:
said "is udtx 0.0.1, and this is udtx .*: update the older one"
expect 11 "$send" --log "$work/file/log" --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/"
