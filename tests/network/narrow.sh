# Paths that carry less than the usual first datagram of 1,200 bytes: tunnels of 1,220 and of 576 bytes. The interface
# may say so, or drop such packets silently. What ICMP says of it counts as little as before (spoofed.sh).
. "$(dirname "$0")/lib.sh"
if [ -z "${in_own_network:-}" ]; then
    unshare -n true 2>/dev/null || skip "no network of its own may be made here"
    in_own_network=1 unshare -n bash -c 'ip link set lo up && exec "$0" "$@"' bash "$0" "$bin" "$relay_program"
    exit
fi
make_key
"$send" keygen --identity "$work/own" 2>/dev/null
"$send" keygen --identity "$work/server" 2>/dev/null
echo "write $(cat "$work/own.pub")" >"$work/allowed"
mkdir "$work/dst"
head -c 3000000 /dev/urandom >"$work/data"
start_recv pinned --dir "$work/dst" --identity "$work/server" --authorized-keys "$work/allowed"
pinned=$port
start_recv r --allow-read --dir "$work/dst" --psk-file "$work/psk"
url=udtx://127.0.0.1:$port

# passes NAME LEAST MOST: a push, a pull and a push with keys of both ends arrive, in datagrams of LEAST to MOST bytes.
passes() {
    local name=$1 least=$2 most=$3 got
    expect 0 "$send" --json --timeout 30 --psk-file "$work/psk" "$work/data" "$url/$name/"
    cmp "$work/data" "$work/dst/$name/data" || fail "$name: the file differs"
    got=$(reported datagram_bytes)
    [ "$got" -ge "$least" ] && [ "$got" -le "$most" ] || fail "$name: datagrams of $got bytes"
    expect 0 "$recv" --timeout 30 --psk-file "$work/psk" "$url/$name/data" "$work/$name.back"
    cmp "$work/data" "$work/$name.back" || fail "$name: what was fetched differs"
    expect 0 "$send" --timeout 30 --identity "$work/own" --pin "$work/server.pub" "$work/data" "udtx://127.0.0.1:$pinned/$name-keys/"
    cmp "$work/data" "$work/dst/$name-keys/data" || fail "$name: the file differs"
}
for io in linux portable; do
    [ $io = linux ] && unset UDTX_IO || export UDTX_IO=portable
    ip link set lo mtu 1220
    passes tunnel-$io 1177 1192
    ip link set lo mtu 576
    passes least-$io 548 548
done
unset UDTX_IO

ip link set lo mtu 500
expect 10 "$send" --transport udp --timeout 30 --psk-file "$work/psk" "$work/data" "$url/"
said "no route to 127.0.0.1:[0-9]+/udp: the interface carries no packets of 576 bytes \(raise its MTU\)"

# The MTU falls in mid-transfer.
ip link set lo mtu 9000
"$send" --timeout 30 --rate 8M --psk-file "$work/psk" "$work/data" "$url/falls/" >"$work/last.out" 2>"$work/last.err" &
sender=$!
receivers+=("$sender")
some() { find "$work/dst/falls" -type f -size +900k 2>/dev/null | grep -q .; }
until_true 60 some
ip link set lo mtu 1000
wait_for 0 "$sender"
cmp "$work/data" "$work/dst/falls/data" || fail "the file differs"

# Nothing says that large packets are dropped.
ip link set lo mtu 65536
command -v nft >/dev/null || skip "the rest needs nft"
nft add table ip line 2>"$work/nft.err" || skip "no packet filter for the rest: $(head -n 1 "$work/nft.err")"
nft add chain ip line in '{ type filter hook input priority 0; }'
nft add rule ip line in meta l4proto udp meta length gt 1220 drop
# One datagram per call, because the filter would see the batch before the kernel segments it.
kill "$receiver"
wait "$receiver" || true
export UDTX_IO=portable
start_recv silent --allow-read --dir "$work/dst" --psk-file "$work/psk"
url=udtx://127.0.0.1:$port
expect 0 "$send" --transport udp --json --timeout 30 --psk-file "$work/psk" "$work/data" "$url/silent/"
cmp "$work/data" "$work/dst/silent/data" || fail "the file differs"
got=$(reported datagram_bytes)
[ "$got" -ge 548 ] && [ "$got" -le 1192 ] || fail "datagrams of $got bytes pass"
