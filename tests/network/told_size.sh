# A router on the path has a link that carries less, and says so by ICMP: the size of the datagrams becomes exactly what
# it says. So it does when the link becomes narrower in mid-transfer, and nothing is lost when ICMP is filtered.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/namespaces.sh"
command -v nft >/dev/null || skip "needs nft"
trap 'leave_namespaces; cleanup' EXIT
for ns in here router there; do
    hold $ns
    inside "${!ns}" ip link set lo up
done
cable "$here" 192.0.2.1/30 "$router" 192.0.2.2/30
cable "$router" 192.0.2.5/30 "$there" 192.0.2.6/30
inside "$router" sysctl -qw net.ipv4.ip_forward=1
inside "$here" ip route add default via 192.0.2.2
inside "$there" ip route add default via 192.0.2.5
# carries BYTES: the far link, in both directions
carries() {
    inside "$router" ip link set x2 mtu "$1"
    inside "$there" ip link set y2 mtu "$1"
}
make_key
mkdir "$work/dst"
head -c 12000000 /dev/urandom >"$work/data"
inside "$there" "$recv" --listen 192.0.2.6:7011 --dir "$work/dst" --psk-file "$work/psk" >"$work/server.log" 2>&1 &
held+=("$!")
disown
for _ in $(seq 500); do ! grep -q listening "$work/server.log" || break; sleep 0.02; done
push=(nsenter -t "$here" -n "$send" --transport udp --json --timeout 30 --rate 80M --psk-file "$work/psk" "$work/data" udtx://192.0.2.6/)
arrives() {  # NAME BYTES: the last datagrams had this size
    cmp "$work/data" "$work/dst/data" || fail "$1: the file differs"
    [ "$(reported datagram_bytes)" -eq "$2" ] || fail "$1: datagrams of $(reported datagram_bytes) bytes"
    rm "$work/dst/data"
}

for mtu in 1400 1333 1220 1000 576; do
    carries $mtu
    expect 0 "${push[@]}"
    arrives "a link of $mtu" $((mtu - 28))
done

# The handshake becomes small at once, so that no other way opens.
carries 576
expect 0 nsenter -t "$here" -n "$send" --timeout 30 --psk-file "$work/psk" "$work/data" udtx://192.0.2.6/
! grep -q ", over " "$work/last.err" || fail "a link of 576 bytes: $(cat "$work/last.err")"
rm "$work/dst/data"

carries 1500
"${push[@]}" >"$work/last.out" 2>"$work/last.err" &
sender=$!
receivers+=("$sender")
some() { find "$work/dst" -type f -size +3000k | grep -q .; }
until_true 60 some
carries 1100
wait_for 0 "$sender"
arrives "a link that becomes narrower" 1072

# Without ICMP, the search finds the size by itself, up to 16 bytes below.
inside "$here" nft -f - <<<'table ip f { chain f { type filter hook input priority 0; ip protocol icmp drop; }; }'
carries 1100
expect 0 "${push[@]}"
cmp "$work/data" "$work/dst/data" || fail "without ICMP: the file differs"
got=$(reported datagram_bytes)
[ "$got" -gt 1056 ] && [ "$got" -le 1072 ] || fail "without ICMP: datagrams of $got bytes"
