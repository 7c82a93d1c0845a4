# Two ends meet at a relay with a code: what both print, wrong codes, ends that leave, a relay that stops or is full.
. "$(dirname "$0")/lib.sh"

mkdir -p "$work/src/deep"
head -c 5000000 /dev/urandom >"$work/src/large"
echo small >"$work/src/deep/small"

# start_relay NAME ARGS...: as start_recv. From then on, $relay is its process and $at its place.
start_relay() {
    start_recv "$1" --relay "${@:2}"
    relay=$receiver at=127.0.0.1:$port
}
# ends_with SIGNAL NAME: the relay ends with code 0.
ends_with() {
    local got=0
    kill -s "$1" "$relay"
    wait "$relay" || got=$?
    [ "$got" -eq 0 ] || fail "exit code $got after $1"
    grep -q "stops because of SIG$1" "$work/$2.log" || fail "no line about $1"
}
# offer ARGS...: starts a sender; sets $code and $sender. Its lines are in offer.log.
offer() {
    local _
    : >"$work/offer.log"
    takes_int "$send" --code --rendezvous "$at" "$@" <"${input:-/dev/null}" >"$work/offer.out" 2>"$work/offer.log" &
    sender=$!
    receivers+=("$sender")
    for _ in $(seq 400); do
        code=$(sed -n 's/^udtx-send: on the other machine run: udtx-recv .* --code \([0-9a-z-]*\)$/\1/p' "$work/offer.log")
        [ -z "$code" ] || return 0
        sleep 0.05
    done
    fail "no code"
}
# offer_ends CODE: waits for the sender.
offer_ends() {
    local got=0
    wait "$sender" || got=$?
    [ "$got" -eq "$1" ] || fail "the sender: exit code $got instead of $1"
}
offer_said() { grep -qE -- "$1" "$work/offer.log" || fail "the sender does not say: $1"; }
take() { expect "$1" "$recv" --rendezvous "$at" --code "${@:2}"; }

start_relay usual
mkdir "$work/dst"
offer "$work/src"
take 0 "$code" "$work/dst"
said "2 files, 2 directories, 5.00 MB"
offer_ends 0
diff -r "$work/src" "$work/dst/src" || fail "the trees differ"
# The same once more: nothing is left to send. A code is typed in capitals, with blanks and short words.
offer -q "$work/src"
typed=$(echo "$code" | tr a-z- 'A-Z ' | awk '{ print $1, substr($2, 1, 4), $3, $4 }')
take 0 "$typed" "$work/dst"
said "0 files"
offer_ends 0
# Streams
seq 100000 >"$work/numbers"
input=$work/numbers offer -
take 0 "$code" -
offer_ends 0
cmp -s "$work/numbers" "$work/last.out" || fail "the stream is not whole"
# JSON names the way.
offer --json "$work/src/large"
take 0 "$code" "$work/dst" --json
offer_ends 0
for file in "$work/offer.out" "$work/last.out"; do grep -q '"carrier": *"udp"' "$file" || fail "no carrier in $file"; done

# What the receiver does not allow
echo old >"$work/dst/extra"
offer --delete "$work/src/"
take 11 "$code" "$work/dst"
offer_ends 11
offer_said "receiver: --delete is not allowed here: start the receiver with --allow-delete"
[ -f "$work/dst/extra" ] || fail "--delete had an effect"

# Wrong codes
offer "$work/src"
wrong=$(echo "$code" | sed 's/-[a-z]*-/-crystal-/')
[ "$wrong" != "$code" ] || wrong=$(echo "$code" | sed 's/-[a-z]*-/-anchor-/')
take 40 "$wrong" "$work/dst"
said "the words of the code are wrong"
offer_said "somebody tried a wrong code; 2 more attempts"
take 0 "$code" "$work/dst"
offer_ends 0
offer "$work/src"
wrong=$(echo "$code" | sed 's/-[a-z]*-/-crystal-/')
for _ in 1 2 3; do take 40 "$wrong" "$work/dst"; done
offer_ends 40
take 10 "$code" "$work/dst"
said "nobody waits with the number"

# Ends that leave
offer "$work/src"
kill -INT "$sender"
offer_ends 130
take 10 "$code" "$work/dst"
offer "$work/src"
take 11 "$code" "$work/nowhere"
take 0 "$code" "$work/dst"
offer_ends 0
expect 11 "$send" --code --rendezvous "$at" "$work/missing"
said "cannot send"

# A transfer that both ends lost goes on with another code.
head -c 60000000 /dev/urandom >"$work/big"
offer --rate 100M "$work/big"
"$recv" --rendezvous "$at" --code "$code" "$work/dst" >/dev/null 2>&1 &
receiver=$!
sleep 2  # a third of it
kill -9 "$receiver" "$sender"
wait "$receiver" "$sender" 2>/dev/null || true
offer --json "$work/big"
take 0 "$code" "$work/dst"
offer_ends 0
cmp -s "$work/big" "$work/dst/big" || fail "the file is not whole"
grep -Eq '"resumed_bytes": *[1-9]' "$work/offer.out" || fail "nothing was kept"

# Garbage by TCP and UDP, and another relay at the same port
expect 10 "$recv" --relay --listen "$at"
said "cannot listen on"
for _ in 1 2 3; do head -c 5000 /dev/urandom >"/dev/tcp/127.0.0.1/${at#*:}" 2>/dev/null || true; done
for _ in 1 2 3; do head -c 900 /dev/urandom >"/dev/udp/127.0.0.1/${at#*:}" 2>/dev/null || true; done
kill -HUP "$relay"  # a relay has nothing to read again
offer "$work/src"
ends_with TERM usual
offer_ends 10
offer_said "the relay is being stopped"
grep -qE "session [0-9]+: 127.0.0.1:[0-9]+ waits" "$work/usual.log" || fail "no line for a code"
grep -qE "session [0-9]+: the ends are a pair" "$work/usual.log" || fail "no line for a pair"
grep -qE "session [0-9]+: wrong code, waits for another end" "$work/usual.log" || fail "no line for a wrong code"
expect 10 "$send" --code --rendezvous "$at" "$work/src"
said "cannot reach the relay at $at/tcp: .*check its address, and that udtx-recv --relay runs there"

start_relay small --relay-sessions 1 --relay-time 2
offer "$work/src"
expect 10 "$send" --code --rendezvous "$at" "$work/src"
said "the relay is full"
offer_ends 10
offer_said "no other end came in time: try again later"
ends_with INT small

# Command lines
usage() { expect 1 "$@"; }
usage "$send" --code "$work/src"
said "^udtx-send: --code needs --rendezvous HOST, a relay that both ends reach"
usage "$send" --code --rendezvous "$at" "$work/src" udtx://host/
said "^udtx-send: --code needs no destination: leave out udtx://host/"
usage "$send" --code --rendezvous "$at"
said "^udtx-send: nothing to send: "
usage "$send" --code --rendezvous "$at" --psk-file "$work/psk" "$work/src"
said "^udtx-send: --psk-file is not for --code"
usage "$send" --rendezvous "$at" "$work/src" udtx://host/
said "^udtx-send: --rendezvous needs --code"
usage "$recv" --rendezvous "$at" --code 7-crystal-anchor
said "^udtx-recv: --code: the code has 2 words and needs 3"
usage "$recv" --rendezvous "$at" --code 7-crystal-anchor-hamstre
said "did you mean 'hamster'"
usage "$recv" --code 7-crystal-anchor-hamster
said "^udtx-recv: --code needs --rendezvous HOST"
usage "$recv" --rendezvous "$at" --code 7-crystal-anchor-hamster --listen :7011
said "^udtx-recv: --listen is not for --code"
usage "$recv" --relay --dir "$work"
said "^udtx-recv: --dir is for files, and not for --relay$"
usage "$recv" --relay "$work"
said "a relay has no files"
usage "$recv" --listen 127.0.0.1:0 --dir "$work" --relay-time 5
said "^udtx-recv: --relay-time needs --relay$"
