# A program in the middle changes the byte stream between two honest ends: it flips bits, cuts the stream, leaves out,
# repeats or reorders pieces of it, and inserts others. Both ends end with a message, and with code 0 only if all has
# arrived. bent.sh TOOLS BEND, with HOSTILE_CARRIER=ssh or relay
. "$(dirname "$0")/../loopback/lib.sh"
bend=$2
head -c 4000000 /dev/urandom >"$work/data"
if [ "$HOSTILE_CARRIER" = relay ]; then
    start_recv relay --relay
    honest=$port
fi
# A stand-in for ssh, with such a program in both directions.
cat >"$work/ssh" <<'SSH'
#!/bin/bash
for word in "$@"; do [ "$word" != -G ] || exit 1; done
"$BEND" "$HOW" 100000 <&0 | SSH_CONNECTION="127.0.0.1 5555 127.0.0.1 22" sh -c "${*: -1}" | "$BEND" "$HOW" 4000
SSH
chmod +x "$work/ssh"

over_ssh() {  # HOW
    BEND=$bend HOW=$1 timeout -k 5 60 "$send" --json --timeout 5 --transport ssh --ssh "$work/ssh" --remote-bin "$bin" \
        "$work/data" "host:$work/$1/" >"$work/$1.out" 2>"$work/$1.err" || code=$?
    echo "$code" >"$work/$1.codes"
}
over_relay() {  # HOW
    local words= place _
    : >"$work/$1.err"
    coproc RELAY { exec "$bend" "$honest" "$1" 100000; }
    read -r _ place <&"${RELAY[0]}"
    timeout -k 5 60 "$send" --json --timeout 5 --code --rendezvous "127.0.0.1:$place" "$work/data" >"$work/$1.out" 2>"$work/$1.err" &
    local sender=$!
    for _ in $(seq 400); do
        words=$(sed -n 's/.* --code \([0-9a-z-]*\)$/\1/p' "$work/$1.err")
        [ -z "$words" ] || break
        sleep 0.05
    done
    local other=0
    timeout -k 5 60 "$recv" --timeout 5 --rendezvous "127.0.0.1:$place" --code "$words" "$work/$1" \
        >"$work/$1.far.out" 2>"$work/$1.far.err" || other=$?
    wait "$sender" || code=$?
    echo "$code $other" >"$work/$1.codes"
}
hows="flip cut omit repeat swap insert frame"
pids=()
for how in $hows; do
    mkdir "$work/$how"
    { code=0 && "over_$HOSTILE_CARRIER" "$how"; } &
    pids+=("$!")
done
for pid in "${pids[@]}"; do wait "$pid" || fail "a run failed"; done
# judge HOW NAME CODE: the end whose lines are in NAME.err ended with CODE.
judge() {
    [[ "$3" =~ ^(0|10|12|30|42)$ ]] || fail "$1: $2 ended with $3: $(cat "$work/$2.err")"
    if [ "$3" -eq 0 ]; then
        cmp "$work/data" "$work/$1/data" || fail "$1: $2 counts as delivered, and is not"
    else
        grep -qE '^udtx-(send|recv): .*; (no delivery is confirmed|nothing was delivered)' "$work/$2.err" || fail "$1: $2 does not say that it failed"
    fi
    ! grep -q "$(printf '\033')" "$work/$2.err" || fail "$1: bytes of the stream came to the log"
}
broken=0
for how in $hows; do
    read -r code other <"$work/$how.codes"
    echo "$how: $code ${other:-}: $(grep -vE 'on the other machine' "$work/$how.err" | head -n 1)"
    judge "$how" "$how" "$code"
    [ -z "$other" ] || judge "$how" "$how.far" "$other"
    [ "$code" -eq 0 ] || broken=$((broken + 1))
done
# A datagram with a false bit is sent again.
read -r code _ <"$work/flip.codes"
[ "$code" -ne 0 ] || grep -qE '"retransmitted_packets": *[1-9]' "$work/flip.out" || fail "no bit was flipped"
[ "$broken" -ge 4 ] || fail "only $broken of the streams broke"
