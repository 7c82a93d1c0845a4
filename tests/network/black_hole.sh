# F74: in mid-transfer, a link that carried datagrams of 9,000 bytes starts to drop those above 1,280 silently.
. "$(dirname "$0")/lib.sh"
command -v nft >/dev/null || skip "needs nft"
if [ -z "${in_own_network:-}" ]; then
    unshare -n true 2>/dev/null || skip "no network of its own may be made here"
    in_own_network=1 unshare -n bash -c 'ip link set lo up && exec "$0" "$@"' bash "$0" "$bin" "$relay_program"
    exit
fi
carries() {  # BYTES: the largest IP packet that passes
    nft flush ruleset
    nft add table ip line
    nft add chain ip line in '{ type filter hook input priority 0; }'
    nft add rule ip line in udp dport "$port" meta length gt "$1" drop
}
make_key
mkdir "$work/dst"
head -c 60000000 /dev/urandom >"$work/data"
start_recv r --one-off --timeout 60 --dir "$work/dst" --psk-file "$work/psk"
carries 9000 2>"$work/nft.err" || skip "no packet filter here: $(head -n 1 "$work/nft.err")"
# One datagram per call, because the filter would see the batch before the kernel segments it.
UDTX_IO=portable "$send" -v --json --rate 120M --timeout 60 --psk-file "$work/psk" "$work/data" "udtx://127.0.0.1:$port/" >"$work/last.out" 2>"$work/last.err" &
sender=$!
receivers+=("$sender")
written() { find "$work/dst" -type f \( -name '*.part' -o -name data \) -printf '%s\n' | awk '{ n += $1 } END { print n + 0 }'; }
has() { [ "$(written)" -ge "$1" ]; }
until_true 60 has 15000000
carries 1280
begun=$(seconds)
sleep 0.2  # data in flight has arrived
at_fall=$(written)
# A temporary file grows by pieces of 1 MiB.
until_true 60 has $((at_fall + 1048576))
took=$(since "$begun")
wait_for 0 "$sender"
wait_for 0 "$receiver"
cmp "$work/data" "$work/dst/data" || fail "the file differs"
[ "$at_fall" -lt 59000000 ] || fail "it was over before the fall"
said "datagrams of 1,[12][0-9]* B"
awk -v t="$took" 'BEGIN { exit t > 3 }' || fail "nothing moved for $took s"
fault_case F74 "real processes, MTU from 9,000 to 1,280 without a report: data moves again within 3 s" \
    "$took s, $(grep -o 'datagrams of [0-9,]* B' "$work/last.err")"
