# Resource limits of a server's process, and signals that it ignores. A limit costs only the file that reaches it; the
# server and other transfers continue.
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/dst" "$work/src"
head -c 20000000 /dev/urandom >"$work/src/large"
for i in $(seq 20); do head -c 100000 /dev/urandom >"$work/src/f$i"; done
head -c 4000000 /dev/urandom >"$work/other"
printf '#!/bin/sh\nulimit -f 10000\nexec "%s" "$@"\n' "$recv" >"$work/limited"
chmod +x "$work/limited"
# The unit of sh is 512 bytes: 5 MB.
recv=$work/limited start_recv r --dir "$work/dst" --psk-file "$work/psk"
"$send" --rate 30M --psk-file "$work/psk" "$work/other" "udtx://127.0.0.1:$port/" >"$work/other.log" 2>&1 &
other=$!
receivers+=("$other")
expect 23 "$send" --json --psk-file "$work/psk" "$work/src" "udtx://127.0.0.1:$port/"
said "large': File too large"
[ "$(json_field "$work/last.out" files)" -eq 20 ] || fail "the others did not arrive"
diff -r -x large -x '.udtx-*' "$work/src" "$work/dst/src" || fail "the others are damaged"
# A stream announces no size: it is written up to the limit.
expect 11 "$send" --psk-file "$work/psk" - "udtx://127.0.0.1:$port/stream" <"$work/src/large"
said "File too large"
for signal in USR1 USR2 PIPE XFSZ; do kill -s "$signal" "$receiver"; done
wait_for 0 "$other"
cmp "$work/other" "$work/dst/other"
expect 0 "$send" --psk-file "$work/psk" "$work/src/f1" "udtx://127.0.0.1:$port/again"
kill -0 "$receiver" || fail "the server has ended"
[ -z "$(find "$work/dst" -name stream)" ] || fail "an incomplete stream has its name"
