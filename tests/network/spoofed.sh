# Packets forged by a raw socket: ICMP about the size of datagrams, and packets that pretend to come from another
# server.
. "$(dirname "$0")/lib.sh"
raw=(python3 -B "$(dirname "$0")/raw.py")
command -v python3 >/dev/null || skip "needs python3"
"${raw[@]}" may 2>"$work/may" || skip "no raw sockets here: $(cat "$work/may")"
# Runs in its own network namespace, so the host's path MTU of its loopback stays unchanged.
if [ -z "${in_own_network:-}" ]; then
    unshare -n true 2>/dev/null || skip "no network of its own may be made here"
    in_own_network=1 unshare -n bash -c 'ip link set lo up && exec "$0" "$@"' bash "$0" "$bin" "$relay_program"
    exit
fi
make_key
mkdir "$work/dst" "$work/dst2"
head -c 20000000 /dev/urandom >"$work/data"
start_recv one --dir "$work/dst" --psk-file "$work/psk"
one=$port

seconds=4
"${raw[@]}" icmp 0 "$one" $seconds >"$work/icmp" &
forger=$!
expect 0 "$send" --json --rate $((20000000 * 8 / seconds)) --timeout 60 --psk-file "$work/psk" "$work/data" "udtx://127.0.0.1:$one/"
wait_for 0 "$forger"
cmp "$work/data" "$work/dst/data" || fail "the file differs"
read -r largest forged <"$work/icmp"
[ "$forged" -ge 1000 ] || fail "only $forged messages were forged"
[ "$largest" -ge 1200 ] || fail "datagrams of $largest bytes after $forged forged messages"
fault_case F23 "forged ICMP with MTUs of 68, 0, 552 and 1199 to both ends: datagrams of 1,200 bytes or more" \
    "$forged forged, datagrams of up to $largest bytes"

# Sends a client's packets to one server with the address of the other.
start_recv two --dir "$work/dst2" --psk-file "$work/psk"
start_relay seen log
echo small >"$work/file"
expect 0 "$send" --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$line/"
grep -oE '^(up|down) .*' "$work/seen.relay" | cut -d' ' -f2 >"$work/packets"
[ "$(wc -l <"$work/packets")" -ge 6 ] || fail "too few packets were seen"
"${raw[@]}" cross "$one" "$port" "$work/packets" >"$work/cross"
read -r injected answers late <"$work/cross"
[ "$answers" -le "$injected" ] || fail "$answers packets between the two for $injected that were injected"
[ "$late" -eq 0 ] || fail "$late packets still pass between the two after 5 s"
expect 0 "$send" --psk-file "$work/psk" "$work/data" "udtx://127.0.0.1:$one/after"
fault_case F31 "two real servers cross-spoofed: at most one packet for each injected one, none after 5 s" \
    "$answers for $injected, $late later"
