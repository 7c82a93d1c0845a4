# No route to the receiver: the tools fail at once, with the system's own message and code 10. If one address of a name
# has no route, they try the next one. Network namespaces keep the host unchanged.
. "$(dirname "$0")/lib.sh"
if [ "${IN_NAMESPACE:-}" != yes ]; then
    command -v ip >/dev/null || skip "there is no 'ip' (Debian: iproute2)"
    unshare -rn true 2>/dev/null || skip "no network namespace can be made here (unshare -rn)"
    trap - EXIT
    rm -rf "$work"
    IN_NAMESPACE=yes exec unshare -rn bash "$0" "$@"
fi
make_key
mkdir "$work/dst"
echo x >"$work/file"
ip link set lo up
ip link add near0 type veth peer name far0 2>/dev/null || skip "no interface can be made in a namespace here"
ip link set far0 up
ip address add 10.9.0.1/24 dev near0
ip link set near0 up

# refused WORDS ADDRESS FLAGS...: both tools, with one thread or two, fail within two seconds, as the machine may be
# busy.
refused() {
    local words=$1 url=udtx://$2:7000/ began
    shift 2
    for streams in 1 2; do
        began=$(date +%s%N)
        expect 10 "$send" --threads "$streams" --psk-file "$work/psk" "$@" "$work/file" "$url"
        said "$words"
        never_said "firewall, and check host|nothing answers"
        [ $((($(date +%s%N) - began) / 1000000)) -lt 2000 ] || fail "not at once: $words"
    done
    expect 10 "$recv" --psk-file "$work/psk" "$@" "${url}x" "$work/dst/"
    said "$words"
    expect 10 "$send" --probe-only --psk-file "$work/psk" "$@" "$url"
    said "$words"
}

refused "no route to 192.0.2.1:7000/udp: Network is unreachable" 192.0.2.1
refused "no route to \[2001:db8::1\]:7000/udp: (Network is unreachable|Cannot assign)" "[2001:db8::1]"
for kind in "unreachable:No route to host" "prohibit:Permission denied.*prohibit" "blackhole:Invalid argument.*blackhole" \
    "throw:Network is unreachable"; do
    ip route replace "${kind%%:*}" 203.0.113.0/24
    refused "no route to 203.0.113.5:7000/udp: ${kind#*:}" 203.0.113.5
    ip route del 203.0.113.0/24
done
refused "no route to \[fe80::1\]:7000/udp: Invalid argument .*fe80::1%eth0" "[fe80::1]"
refused "no route to 255.255.255.255:7000/udp: (Permission denied|Network is unreachable)" 255.255.255.255
ip link set near0 down
refused "no route to 10.9.0.2:7000/udp: Network is (unreachable|down)" 10.9.0.2
ip link set near0 up

# Anyone may forge a router's message. The tools believe it if no other packet arrives for about a second.
unshare -n sleep 60 &
router=$!
receivers+=("$router")
apart() { [ "$(readlink /proc/self/ns/net)" != "$(readlink "/proc/$router/ns/net")" ]; }
until_true 10 apart
there() { nsenter -t "$router" -n "$@"; }
ip link set far0 netns "$router"
there ip address add 10.9.0.9/24 dev far0
there ip link set far0 up
there ip link set lo up
there sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward' 2>/dev/null || true
there ip route add prohibit 198.51.100.0/24
ip route add 198.51.100.0/24 via 10.9.0.9
expect 10 "$send" --psk-file "$work/psk" "$work/file" udtx://198.51.100.7:7000/
said "no route to 198.51.100.7:7000/udp: No route to host"

# Two paths, neither of which reaches the address.
ip link add near1 type veth peer name far1
ip link set far1 up
ip address add 10.8.0.1/24 dev near1
ip link set near1 up
ip route add unreachable 203.0.113.0/24
refused "no route to 203.0.113.5:7000/udp: No route to host" 203.0.113.5 --path 10.9.0.1 --path 10.8.0.1

# A path without a route neither prevents nor delays the other one.
start_recv other --psk-file "$work/psk" --dir "$work/dst"
began=$(date +%s%N)
expect 0 "$send" --psk-file "$work/psk" --path 10.9.0.1,203.0.113.5 --path 127.0.0.1 "$work/file" "udtx://127.0.0.1:$port/"
[ $((($(date +%s%N) - began) / 1000000)) -lt 2000 ] || fail "a path without a route cost time"

# A filter may concern one packet only, and TCP is tried before the tools give up.
if command -v nft >/dev/null && nft add table ip own 2>/dev/null; then
    nft 'add chain ip own out { type filter hook output priority 0; }; add rule ip own out ip daddr 10.9.0.7 meta l4proto udp drop'
    refused "no route to 10.9.0.7:7000/udp: Operation not permitted .*firewall" 10.9.0.7 --transport udp
fi

# A link that comes back: a started transfer is not given up.
head -c 20000000 /dev/urandom >"$work/large"
"$send" --rate 60M --psk-file "$work/psk" "$work/large" "udtx://127.0.0.1:$port/" 2>"$work/last.err" &
client=$!
receivers+=("$client")
arrives() { [ -n "$(find "$work/dst" -name '*.part' -size +2000k)" ]; }
until_true 60 arrives
ip link set lo down
sleep 1
ip link set lo up
wait_for 0 "$client"
cmp "$work/large" "$work/dst/large" || fail "not the same"
