# A relay as a process: two ends meet at it and send through it, its budgets hold, and a signal ends it in an orderly way.
. "$(dirname "$0")/lib.sh"
ends=$3

# start_relay NAME ARGS...: as start_recv.
start_relay() { start_recv "$1" --relay "${@:2}"; }
# ends_with SIGNAL NAME: the relay ends with code 0.
ends_with() {
    local got=0
    kill -s "$1" "$receiver"
    wait "$receiver" || got=$?
    [ "$got" -eq 0 ] || fail "exit code $got after $1"
    grep -q "stops because of SIG$1" "$work/$2.log" || fail "no line about $1"
}

start_relay usual
timeout 60 "$ends" "$port" pair || fail "two ends cannot use the relay"
timeout 60 "$ends" "$port" wrong || fail "wrong codes"
grep -qE "session [0-9]+: 127.0.0.1:[0-9]+ waits" "$work/usual.log" || fail "no line for a code"
grep -qE "session [0-9]+: the ends are a pair" "$work/usual.log" || fail "no line for a pair"
grep -qE "session [0-9]+: wrong code, waits for another end" "$work/usual.log" || fail "no line for a wrong code"
# Another relay at the same port
expect 10 "$recv" --relay --listen "127.0.0.1:$port"
said "cannot listen on"
# Garbage by TCP and UDP
for _ in 1 2 3; do head -c 5000 /dev/urandom >"/dev/tcp/127.0.0.1/$port" 2>/dev/null || true; done
for _ in 1 2 3; do head -c 900 /dev/urandom >"/dev/udp/127.0.0.1/$port" 2>/dev/null || true; done
kill -HUP "$receiver"  # a relay has nothing to read again
"$ends" "$port" stays >"$work/stays.out" 2>"$work/stays.err" &
stays=$!
for _ in $(seq 400); do [ ! -s "$work/stays.out" ] || break; sleep 0.05; done
[ -s "$work/stays.out" ] || fail "the ends did not meet"
ends_with TERM usual
wait "$stays" || fail "the ends were not told: $(cat "$work/stays.err")"
grep -qE "3 codes, 2 pairs, 6 datagrams with 7.20 kB forwarded, 3 wrong codes" "$work/usual.log" ||
    fail "the sums: $(tail -n 1 "$work/usual.log")"

start_relay small --relay-sessions 1 --relay-time 2
timeout 60 "$ends" "$port" full || fail "--relay-sessions"
timeout 60 "$ends" "$port" expires || fail "--relay-time"
ends_with INT small

# 800 kbit/s are 200,000 bytes in two seconds, and 64 KiB may come at once. The ends send much more.
limited() {
    start_relay limited "$@"
    arrived=$(timeout 60 "$ends" "$port" rate) || fail "$1: the ends cannot use the relay"
    [ "$arrived" -gt 100000 ] && [ "$arrived" -lt 350000 ] || fail "$1: $arrived bytes"
    ends_with INT limited
    grep -q "dropped" "$work/limited.log" || fail "$1: no line about dropped datagrams"
}
limited --relay-rate 800k
limited --max-rate 800k

expect 1 "$recv" --relay --dir "$work"
said "^udtx-recv: --dir is for files, and not for --relay$"
expect 1 "$recv" --relay "$work"
said "a relay has no files"
expect 1 "$recv" --listen 127.0.0.1:0 --dir "$work" --relay-time 5
said "^udtx-recv: --relay-time needs --relay$"
