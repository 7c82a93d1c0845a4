# A peer that tells one lie after the other. Source it after lib.sh.

# The honest tool uses the carrier of the liar (carrier.hpp).
carrier=(--transport "${HOSTILE_CARRIER:-auto}")

# start_liar PROGRAM: the program listens at $port with the key of make_key; its lies are listed in $work/lies.
start_liar() {
    local program=$1
    "$program" list >"$work/lies"
    coproc LIAR { exec "$program" "$work/psk" 2>"$work/liar.log"; }
    receivers+=("$LIAR_PID")
    read -r _ port <&"${LIAR[0]}" || fail "the peer that lies does not start"
    number=0
}
# Selects the lie for the next client.
next_lie() {
    echo "$number" >&"${LIAR[1]}"
    read -r _ <&"${LIAR[0]}" || fail "it does not know lie $number"
    number=$((number + 1))
}
