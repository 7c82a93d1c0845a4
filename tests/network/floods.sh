# Floods of first flights, spoofed ones and ones with cookies from one real address. The server's memory stays bounded,
# and other clients connect. floods.sh TOOLS UDP_RELAY HELLO_FLOOD HALF_OPEN
. "$(dirname "$0")/lib.sh"
flood=$4
half_open=$5
pace=50000
seconds=5
[ -z "$whole" ] || seconds=60
make_key
mkdir "$work/dst"
echo small >"$work/file"
start_recv r --dir "$work/dst" --psk-file "$work/psk"
start_relay seen log
expect 0 "$send" --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$line/"
# With a shared key the first flight carries a proof. Changed ids make it invalid, as another key would.
sed -n '/^up /{s///p;q}' "$work/seen.relay" >"$work/hello"

# client_during PID: runs three clients one after the other while it runs. Sets $best, the seconds of the fastest, and
# $each, those of all.
client_during() {
    local took i
    best=999
    each=
    for i in 1 2 3; do
        # On a slow machine the flood ends before the third client.
        kill -0 "$1" 2>/dev/null || [ "$i" -gt 1 ] || fail "the flood was over before a client began"
        local begun
        begun=$(seconds)
        expect 0 "$send" --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/client-$i"
        took=$(since "$begun")
        each="$each${each:+, }$took"
        best=$(awk -v a="$best" -v b="$took" 'BEGIN { print (a < b ? a : b) }')
    done
    awk -v b="$best" 'BEGIN { exit b > 2 }' || fail "no client of three within 2 s, the fastest after $best s"
}

before=$(resident "$receiver")
"$flood" "$port" $((pace * seconds)) $pace <"$work/hello" >"$work/flood" 2>"$work/flood.err" &
flooding=$!
receivers+=("$flooding")
sleep 1
client_during "$flooding"
wait_for 0 "$flooding"
read -r packets reached <"$work/flood"
[ "$packets" -ge $((pace * seconds * 9 / 10)) ] || fail "only $packets packets left"
grown=$(($(resident "$receiver") - before))
[ "$grown" -le 16384 ] || fail "the receiver grew by $grown KiB"
fault_case F35 "spoofed HELLOs at 50,000/s for 5 s (60 s in the whole matrix): RSS +16 MiB at most, one of three clients served within 2 s" \
    "$packets at $reached/s: $grown KiB, clients after $each s"

before=$(resident "$receiver")
start_relay half only-hello from=8  # the other clients count as another host
"$half_open" "$work/psk" "$line" 1000 >"$work/half.out" 2>"$work/half.err" &
halves=$!
receivers+=("$halves")
until_true 60 grep -q '^started 1000$' "$work/half.out"
client_during "$halves"
grown=$(($(resident "$receiver") - before))
[ "$grown" -le 16384 ] || fail "the receiver grew by $grown KiB"
kill -TERM "$halves"
fault_case F36 "1,000 real handshakes with cookies from one address, left half open: RSS +16 MiB at most, one of three clients served within 2 s" \
    "$grown KiB, clients after $each s"
