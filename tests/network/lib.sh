# Shared by the tests over an impaired link: loopback's lib.sh, and udp_relay. network.sh TOOLS UDP_RELAY
set -- "$1" "" "${@:2}"  # the JSON checker is not needed, because python3 or grep read the reports
. "$(dirname "${BASH_SOURCE[0]}")/../loopback/lib.sh"
relay_program=$3

# start_relay NAME WORDS...: starts a relay in front of the receiver at $port; sets $line, the relay's port.
start_relay() {
    local name=$1 _
    shift
    : >"$work/$name.relay"
    "$relay_program" "$port" "$@" >>"$work/$name.relay" 2>&1 &
    receivers+=("$!")
    for _ in $(seq 400); do
        line=$(sed -n 's/^port //p' "$work/$name.relay")
        [ -z "$line" ] || return 0
        sleep 0.02
    done
    fail "the relay $name does not listen"
}
# Resident memory of a process, in KiB.
resident() { awk '/^VmRSS:/ { print $2 }' "/proc/$1/status"; }
seconds() { date +%s.%N; }
since() { awk -v a="$1" -v b="$(seconds)" 'BEGIN { printf "%.1f", b - a }'; }
# A number from the last report of --json.
reported() { grep -oE "\"$1\": *[0-9]+" "$work/last.out" | grep -oE '[0-9]+$' || fail "no $1 in the report"; }
