# A peer that tells one lie after the other. Source it after lib.sh.

# The honest tool reaches the liar at $place, with the flags $carrier (carrier.hpp).

# start_liar PROGRAM: the program listens at $place with the key of make_key; its lies are listed in $work/lies.
start_liar() {
    local program=$1
    "$program" list >"$work/lies"
    number=0
    if [ "${HOSTILE_CARRIER:-}" = relay ]; then
        start_recv relay --relay
        export HOSTILE_RELAY=$port
        carrier=(--code --rendezvous "127.0.0.1:$port")
        liar=$program
        return
    fi
    if [ "${HOSTILE_CARRIER:-}" = ssh ]; then
        place=host:
        carrier=(--transport ssh --ssh "bash '$(dirname "$(realpath "$0")")/far_end.sh' '$program' '$work'")
        return
    fi
    coproc LIAR { exec "$program" "$work/psk" 2>"$work/liar.log"; }
    receivers+=("$LIAR_PID")
    read -r _ port <&"${LIAR[0]}" || fail "the peer that lies does not start"
    place=udtx://127.0.0.1:$port/
    carrier=(--transport "${HOSTILE_CARRIER:-auto}" --psk-file "$work/psk")
}
# Selects the lie for the next client.
next_lie() {
    echo "$number" >"$work/number"
    if [ -n "${LIAR_PID:-}" ]; then
        echo "$number" >&"${LIAR[1]}"
        read -r _ <&"${LIAR[0]}" || fail "it does not know lie $number"
    fi
    number=$((number + 1))
}
# send_to_liar SOURCE NAME: the honest sender; NAME is that of a stream. Returns its exit code.
send_to_liar() {
    local code=0 _ words=
    if [ "${HOSTILE_CARRIER:-}" != relay ]; then
        timeout -k 5 60 "$send" "${carrier[@]}" "$1" "$place${2:-}" >"$work/last.out" 2>"$work/last.err" || code=$?
        return "$code"
    fi
    : >"$work/last.err"
    timeout -k 5 60 "$send" "${carrier[@]}" "$1" <&0 >"$work/last.out" 2>"$work/last.err" &
    local sender=$!
    receivers+=("$sender")
    for _ in $(seq 400); do
        words=$(sed -n 's/.* --code \([0-9a-z-]*\)$/\1/p' "$work/last.err")
        [ -z "$words" ] || break
        sleep 0.05
    done
    timeout -k 5 60 "$liar" "$words" "$(cat "$work/number")" 2>>"$work/liar.log" || true
    wait "$sender" || code=$?
    return "$code"
}
# far_end [DIR]: each lying client starts a receiver of its own, which writes to DIR (far_end.hpp). What it says is in
# far.log.
far_end() {
    export HOSTILE_FAR_DIR=${1:-$work/ground/target} HOSTILE_FAR_LOG=$work/far.log
    if [ "$HOSTILE_CARRIER" = ssh ]; then
        HOSTILE_FAR_END="exec '$recv' --bootstrap 2>>\"\$HOSTILE_FAR_LOG\""
        port=9
    else
        start_recv relay --relay
        export HOSTILE_RELAY=$port
        HOSTILE_FAR_END="exec '$recv' --timeout 4 --rendezvous 127.0.0.1:$port --code \"\$1\" \"\$HOSTILE_FAR_DIR\" 2>>\"\$HOSTILE_FAR_LOG\""
    fi
    export HOSTILE_FAR_END
}
has_far_end() { [[ "${HOSTILE_CARRIER:-}" =~ ^(ssh|relay)$ ]]; }
