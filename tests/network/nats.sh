# Two ends behind NATs meet with a code: datagrams pass directly where the two kinds of NAT let them, and through the
# relay where they do not. Kinds (RFC 3489, section 5): full, restricted, port (restricted), symmetric.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/namespaces.sh"
command -v nft >/dev/null || skip "needs nft"
head -c 3000000 /dev/urandom >"$work/data"

# nat NS KIND OUTSIDE INSIDE_HOST: the namespace translates the datagrams of the host. OUTSIDE: its outer interface.
nat() {
    local ns=$1 kind=$2 out=$3 host=$4 how=masquerade in=
    case $kind in
        full) in="iifname $out meta l4proto udp dnat to $host" ;;
        restricted) in="iifname $out meta l4proto udp ip saddr @asked dnat to $host" ;;
        port) ;;
        symmetric) how="masquerade random,fully-random" ;;
    esac
    inside "$ns" sysctl -qw net.ipv4.ip_forward=1
    inside "$ns" nft -f - <<EOF
table ip nat {
    set asked { type ipv4_addr; flags dynamic; size 64; }
    chain remember {
        type filter hook forward priority 0
        oifname $out meta l4proto udp update @asked { ip daddr }
        ct status dnat accept
        oifname != $out ct state new drop
    }
    # What is for nobody leaves no trace: otherwise the kernel would go on as it began with the first datagram.
    chain unasked {
        type filter hook input priority 0
        iifname $out meta l4proto udp drop
    }
    chain outgoing {
        type nat hook postrouting priority 100
        oifname $out $how
    }
    chain incoming {
        type nat hook prerouting priority -100
        $in
    }
}
EOF
}

# lines FILE...: what was printed, for a failure
lines() { tail -n 4 "$@"; }

# pass SENDER_KIND RECEIVER_KIND WAY FLAGS...: WAY is what the summary must name: UDP, the relay, both, or nothing if
# the ends cannot reach each other. Runs in a shell of its own.
pass() (
    way=$3 name="$1 to $2, ${*:3}" code= sent=0 received=0
    trap 'leave_namespaces; wait' EXIT
    for ns in net nat_a nat_b host_a host_b; do
        hold $ns
        inside "${!ns}" ip link set lo up
    done
    cable "$net" 198.51.100.1/30 "$nat_a" 198.51.100.2/30
    cable "$net" 198.51.100.5/30 "$nat_b" 198.51.100.6/30
    cable "$nat_a" 10.1.0.1/24 "$host_a" 10.1.0.2/24
    cable "$nat_b" 10.2.0.1/24 "$host_b" 10.2.0.2/24
    inside "$net" sysctl -qw net.ipv4.ip_forward=1
    inside "$nat_a" ip route add default via 198.51.100.1
    inside "$nat_b" ip route add default via 198.51.100.5
    inside "$host_a" ip route add default via 10.1.0.1
    inside "$host_b" ip route add default via 10.2.0.1
    nat "$nat_a" "$1" y1 10.1.0.2
    nat "$nat_b" "$2" y2 10.2.0.2
    at=$(mktemp -d "$work/XXXXXX")
    mkdir "$at/dst"
    touch "$at/relay" "$at/send"
    shift 3
    # shellcheck disable=SC2086  # flags are several words
    inside "$net" "$recv" --relay ${relay_flags:-} >"$at/relay" 2>&1 &
    relay=$!
    held+=("$relay")
    disown
    for _ in $(seq 500); do ! grep -q listening "$at/relay" || break; sleep 0.02; done
    [ "$way" != both ] || inside "$net" nft -f - <<<'table ip f { chain f { type filter hook forward priority 0; meta l4proto udp drop; }; }'
    inside "$host_a" timeout 90 "$send" --code --rendezvous 198.51.100.1 "$@" "$work/data" >"$at/send" 2>&1 &
    sender=$!
    for _ in $(seq 500); do
        code=$(sed -n 's/.*--code \([^ ]*\)$/\1/p' "$at/send")
        [ -z "$code" ] || break
        sleep 0.02
    done
    [ -n "$code" ] || fail "$name: no code: $(lines "$at/send")"
    inside "$host_b" timeout 90 "$recv" --code "$code" --rendezvous 198.51.100.1 --timeout 20 "$at/dst" >"$at/recv" 2>&1 &
    receiver=$!
    held+=("$sender" "$receiver")
    if [ "$way" = both ]; then
        # The data goes through the relay, until nothing holds up the datagrams any more. Then the relay may leave.
        for _ in $(seq 500); do [ -z "$(find "$at/dst" -type f)" ] || break; sleep 0.02; done
        sleep 1
        inside "$net" nft delete table ip f
        for _ in $(seq 1000); do ! grep -q 'path 1 .*active' "$at/send" || break; sleep 0.02; done
        kill "$relay"
    fi
    wait "$sender" || sent=$?
    wait "$receiver" || received=$?
    if [ "$way" = nothing ]; then
        [ "$sent" -eq 42 ] && [ "$received" -eq 10 ] || fail "$name: codes $sent and $received: $(lines "$at"/send "$at"/recv)"
        return
    fi
    [ "$sent" -eq 0 ] && [ "$received" -eq 0 ] || fail "$name: codes $sent and $received: $(lines "$at"/send "$at"/recv)"
    cmp -s "$work/data" "$at/dst/data" || fail "$name: the file is not whole"
    case $way in
        UDP) ! grep -q 'over the relay$' "$at/send" ;;
        relay) grep -q 'over the relay$' "$at/send" ;;
        both) grep -q 'over UDP and the relay$' "$at/send" ;;
    esac || fail "$name: another way: $(lines "$at/send")"
    # 3 MB at 8 Mbit/s, of which 64 KiB may come at once
    [ -z "${relay_flags:-}" ] || awk '/ in .* s,/ { sub(/.* in /, ""); exit $1 < 2.5 }' "$at/recv" ||
        fail "$name with $relay_flags: $(lines "$at/recv")"
)

cases=()
begin() {
    pass "$@" &
    cases+=("$!")
    [ "${#cases[@]}" -lt 6 ] || await_cases
}
await_cases() {
    local one bad=0
    for one in "${cases[@]}"; do wait "$one" || bad=1; done
    cases=()
    [ "$bad" -eq 0 ] || exit 1
}
for a in full restricted port symmetric; do
    for b in full restricted port symmetric; do
        case $a-$b in
            symmetric-symmetric | symmetric-port | port-symmetric) begin $a $b relay ;;
            *) begin $a $b UDP ;;
        esac
    done
done
relay_flags="--relay-rate 8M" begin symmetric symmetric relay
relay_flags="--max-rate 8M" begin symmetric symmetric relay
# Without the relay's help
begin symmetric symmetric nothing --transport udp
begin restricted restricted UDP --transport udp
begin full symmetric UDP --transport udp
begin symmetric full UDP --transport udp
# A direct path comes later.
begin port port both -v --rate 4M
await_cases
