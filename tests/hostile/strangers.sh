# Strangers hold TCP connections to a server and to a relay. Those that the server keeps are bounded, for each host and
# in total, and in time. Clients of other hosts are served meanwhile. strangers.sh TOOLS STRANGERS, with HOSTILE_CARRIER=tcp or relay
. "$(dirname "$0")/../loopback/lib.sh"
strangers=$2
[ -d /proc/self/fd ] || skip "no /proc to count descriptors in"
make_key
mkdir "$work/dst"
head -c 300000 /dev/urandom >"$work/file"

# crowd HOSTS COUNT: they connect to $port. ask_crowd sets $open.
crowd() {
    coproc CROWD { exec "$strangers" "$port" "$1" "$2" 2>"$work/crowd.err"; }
    receivers+=("$CROWD_PID")
    local word
    read -r word <&"${CROWD[0]}" || fail "no strangers: $(cat "$work/crowd.err")"
    [ "$word" = in ] || fail "strangers say $word"
}
ask_crowd() {
    echo >&"${CROWD[1]}"
    read -r _ open <&"${CROWD[0]}"
}
# Only root may count those of the tools, which hold keys.
descriptors() { { find "/proc/$receiver/fd" -mindepth 1 2>/dev/null || true; } | wc -l; }
crowd_goes() {
    kill "$CROWD_PID"
    wait "$CROWD_PID" 2>/dev/null || true
}
# at_most COUNT: the crowd holds no more.
at_most() {
    ask_crowd
    [ "$open" -le "$1" ]
}

if [ "$HOSTILE_CARRIER" = relay ]; then
    start_recv relay --relay
    before=$(descriptors)
    crowd 1 100
    until_true 5 at_most 16
    crowd_goes
    crowd 20 20
    sleep 1.5  # from now on their places are for others, too
    until_true 5 at_most 256
    [ $(($(descriptors) - before)) -le 256 ] || fail "at the relay they hold $(($(descriptors) - before)) descriptors"
    begin=$(now)
    "$send" --code --rendezvous "127.0.0.1:$port" "$work/file" >/dev/null 2>"$work/last.err" &
    sender=$!
    receivers+=("$sender")
    until_true 20 grep -q "on the other machine run" "$work/last.err"
    true_since "$begin" 2000 "beside many hosts with $open connections, the relay gave a code" true
    kill "$sender"
    until_true 15 at_most 0
    crowd_goes
    kill -TERM "$receiver"
    wait_for 0 "$receiver"
    exit 0
fi
start_recv server --dir "$work/dst" --psk-file "$work/psk"
before=$(descriptors)
crowd 1 200  # of one host
until_true 5 at_most 64
[ $(($(descriptors) - before)) -le 64 ] || fail "one host holds $(($(descriptors) - before)) descriptors"
begin=$(now)
expect 0 "$send" --transport tcp --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/one"
true_since "$begin" 2000 "beside one host with $open connections, a client was served" cmp -s "$work/file" "$work/dst/one/file"
crowd_goes

crowd 8 60  # of many hosts
until_true 5 at_most 256
most=$open
[ $(($(descriptors) - before)) -le 256 ] || fail "they hold $(($(descriptors) - before)) descriptors"
sleep 1.5  # from now on their places are for others, too
begin=$(now)
expect 0 "$send" --transport tcp --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/many"
true_since "$begin" 2000 "beside many hosts with $most connections, a client was served" cmp -s "$work/file" "$work/dst/many/file"
until_true 15 at_most 0
[ "$(descriptors)" -le $((before + 2)) ] || fail "the server still has $(descriptors) descriptors"
crowd_goes
kill -TERM "$receiver"
wait_for 0 "$receiver"
