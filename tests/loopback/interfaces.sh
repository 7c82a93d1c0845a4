# Two network namespaces with two links between them, IPv4 and IPv6. Both carry data. If one is unplugged during a
# transfer, the other takes over.
. "$(dirname "$0")/lib.sh"
a=udtx-a-$$
b=udtx-b-$$
command -v ip >/dev/null || skip "no ip(8) here"
unshare -n true 2>/dev/null && ip netns add "$a" 2>/dev/null || skip "network namespaces are not permitted here"
drop_namespaces() {
    ip netns del "$a" 2>/dev/null || true
    ip netns del "$b" 2>/dev/null || true
}
leave() {
    local status=$?
    drop_namespaces
    set +e
    (exit "$status")
    cleanup
}
trap leave EXIT
ip netns add "$b" 2>/dev/null || skip "network namespaces are not permitted here"
for i in 1 2; do
    ip -n "$a" link add "line$i" type veth peer name "line$i" netns "$b" 2>/dev/null || skip "no veth interfaces here"
    ip -n "$a" addr add "10.77.$i.1/24" dev "line$i"
    ip -n "$b" addr add "10.77.$i.2/24" dev "line$i"
    ip -n "$a" -6 addr add "fd77:$i::1/64" dev "line$i" nodad 2>/dev/null || skip "no IPv6 here"
    ip -n "$b" -6 addr add "fd77:$i::2/64" dev "line$i" nodad
    ip -n "$a" link set "line$i" up
    ip -n "$b" link set "line$i" up
done
make_key
mkdir "$work/dst"
head -c 80000000 /dev/urandom >"$work/data"

start_far() {
    : >"$work/far.log"
    ip netns exec "$b" "$recv" --listen "[::]:7011" --one-off --dir "$work/dst" --psk-file "$work/psk" \
        >"$work/far.out" 2>"$work/far.log" &
    receiver=$!
    receivers+=("$receiver")
    until_true 60 grep -q "listening on" "$work/far.log"
}
far_send() { ip netns exec "$a" "$send" --psk-file "$work/psk" --json "$@" "$work/data" "udtx://10.77.1.2:7011/"; }
paths() { json_field "$work/sent.out" paths; }

start_far
far_send --rate 300M --scheduler rr --path line1 --path "line2,fd77:2::2" >"$work/sent.out" 2>"$work/sent.err" ||
    fail "over two lines: $(cat "$work/sent.err")"
wait_for 0 "$receiver"
cmp "$work/data" "$work/dst/data"
[ "$(paths | grep -oE '"state":"(active|suspended)"' | wc -l)" -eq 2 ] || fail "not two paths in use: $(paths)"
[ "$(paths | grep -o '"bytes":0,' | wc -l)" -eq 0 ] || fail "a path carried nothing: $(paths)"

rm "$work/dst/data"
start_far
far_send -v --rate 100M --scheduler rr --path line1 --path line2,10.77.2.2 >"$work/sent.out" 2>"$work/sent.err" &
sender=$!
receivers+=("$sender")
until_true 60 grep -q "path 1 from .*active" "$work/sent.err"
sleep 1
ip -n "$a" link set line2 down
wait_for 0 "$sender"
wait_for 0 "$receiver"
cmp "$work/data" "$work/dst/data"
[ "$(paths | grep -o '"state":"suspended"' | wc -l)" -eq 1 ] || fail "the unplugged path: $(paths)"

# An interface that is deleted and made again has another index. A path named by it continues, even if it is the only
# one.
remake_line2() {
    ip -n "$a" link del line2
    sleep 1
    ip -n "$a" link add line2 type veth peer name line2 netns "$b"
    ip -n "$a" addr add 10.77.2.1/24 dev line2
    ip -n "$b" addr add 10.77.2.2/24 dev line2
    ip -n "$a" link set line2 up
    ip -n "$b" link set line2 up
}
ip -n "$a" link set line2 up
rm "$work/dst/data"
start_far
far_send -v --rate 150M --path line2,10.77.2.2 >"$work/sent.out" 2>"$work/sent.err" &
sender=$!
receivers+=("$sender")
until_true 60 grep -q "connected to" "$work/sent.err"
sleep 1
remake_line2
wait_for 0 "$sender"
wait_for 0 "$receiver"
cmp "$work/data" "$work/dst/data"
