# Real processes over a link that loses, damages and duplicates packets and changes the clients' addresses.
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/dst"
echo small >"$work/file"
start_recv r --dir "$work/dst" --psk-file "$work/psk"

# fifty NAME WORDS...: runs fifty clients at once over such a link; sets $connected.
fifty() {
    local name=$1 i pids=()
    shift
    start_relay "$name" "$@"
    mkdir "$work/dst/$name"
    for i in $(seq 50); do
        timeout 120 "$send" --timeout 60 --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$line/$name/$i" 2>"$work/$name-$i.err" &
        pids+=("$!")
    done
    for i in "${pids[@]}"; do wait_for 0 "$i"; done
    connected=$(find "$work/dst/$name" -type f -size 6c | wc -l)
    [ "$connected" -eq 50 ] || fail "$name: $connected of 50 files came"
}
begun=$(seconds)
fifty loss loss=0.3
fault_case F14 "real processes, 30 % loss both ways: 50 of 50 connect" "$connected of 50, all after $(since "$begun") s"
begun=$(seconds)
fifty corruption corrupt=0.3
fault_case F15 "real processes, 30 % corruption both ways: 50 of 50 connect" "$connected of 50, all after $(since "$begun") s"

head -c 20000000 /dev/urandom >"$work/data"
begun=$(seconds)
start_relay doubled duplicate=0.2 corrupt=0.02
expect 0 "$send" --timeout 60 --psk-file "$work/psk" "$work/data" "udtx://127.0.0.1:$line/"
cmp "$work/data" "$work/dst/data" || fail "the file differs"
fault_case F71 "real processes, 20 % duplicates, 2 % corruption: 20 MB arrive unchanged" "after $(since "$begun") s"

# The client repeatedly changes to another port, then to another address.
every=1
[ -z "$whole" ] || every=5
start_relay moved rebind=$every
begun=$(seconds)
# There are at least six changes.
expect 0 "$send" --json --timeout 60 --rate $((20000000 * 8 / (7 * every))) --psk-file "$work/psk" "$work/data" "udtx://127.0.0.1:$line/again/"
cmp "$work/data" "$work/dst/again/data" || fail "the file differs"
moves=$(grep -c '^rebound$' "$work/moved.relay")
[ "$moves" -ge 5 ] || fail "only $moves changes of address"
sent=$(reported sent_bytes)
[ "$(reported reconnects)" -eq 0 ] || fail "it was not one session"
[ "$sent" -le 24000000 ] || fail "$sent bytes were sent of 20000000: it began anew"
fault_case F73 "real processes, port, then address, every second (5 s in the whole matrix): one session, 20 MB arrive" \
    "$moves changes, $(since "$begun") s, $sent bytes sent"

# Both ends' reports are about the data's direction. The receiver's own packets are acknowledgements, of which few are
# sent and none is sent again.
mkdir "$work/fetched"
start_recv source --stats -v --allow-read --dir "$work" --psk-file "$work/psk"
start_relay lossy loss=0.05
expect 0 "$recv" --json --stats -v --mtu 1500 --rate 60M --timeout 60 --psk-file "$work/psk" "udtx://127.0.0.1:$line/data" "$work/fetched/"
cmp "$work/data" "$work/fetched/data" || fail "the file differs"
sent=$(reported sent_packets) lost=$(reported lost_packets) again=$(reported retransmitted_packets)
[ "$sent" -ge 11000 ] || fail "$sent packets cannot carry nearly 20 MB"
[ "$lost" -ge $((sent / 50)) ] && [ "$again" -ge $((sent / 50)) ] || fail "of $sent packets $lost lost, $again again at 5 %"
said "lost [0-9,]+ of [0-9]{2},[0-9]+ packets, [0-9,]+ sent again"
said "^udtx-recv: received: 20,000,000 bytes"
said "packets sent by the sender: [0-9]{2},"
never_said "sent: 20,000,000"
until_true 60 grep -qE "packets sent: [0-9]{2},[0-9]{3}, lost: [0-9,]+" "$work/source.log"
# counters FILE: packets sent, lost and sent again, as --stats prints them.
counters() {
    grep -oE "packets sent( by the sender)?: [0-9,]+, lost: [0-9,]+, sent again: [0-9,]+" "$1" | tail -n 1 | grep -oE '[0-9,]+' |
        grep '[0-9]' | tr -d , | paste -sd ' '
}
# The last counters come with the end of the connection, so that both ends agree.
[ "$(counters "$work/source.log")" = "$sent $lost $again" ] || fail "the sender counts $(counters "$work/source.log"), its receiver $sent $lost $again"
[ "$(counters "$work/last.err")" = "$sent $lost $again" ] || fail "in text $(counters "$work/last.err"), in JSON $sent $lost $again"

# --- the same for a push, and for one so short that no periodic report of the paths comes
start_recv target --stats -v --dir "$work/fetched" --psk-file "$work/psk"
start_relay lossy2 loss=0.05
for file in data file; do
    expect 0 "$send" --json --stats -v --mtu 1500 --rate 60M --timeout 60 --psk-file "$work/psk" "$work/$file" "udtx://127.0.0.1:$line/"
    ours="$(reported sent_packets) $(reported lost_packets) $(reported retransmitted_packets)"
    until_true 60 grep -qE "packets sent by the sender: $(reported sent_packets | sed ':a; s/\B[0-9]\{3\}\>/,&/; ta')," "$work/target.log"
    [ "$(counters "$work/target.log")" = "$ours" ] || fail "$file: the sender counts $ours, its receiver $(counters "$work/target.log")"
done
