# The reports about a transfer: its limit, a JSON object per second, phases in order, metrics, --stats; and a change of
# its cap.
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/dst" "$work/run"
export XDG_RUNTIME_DIR=$work/run
head -c 6000000 /dev/urandom >"$work/data"
is() { [ "$(json_field "$1" "$2")" = "$3" ] || fail "$2 is $(json_field "$1" "$2"), not $3"; }

# --- a cap is the limit, and each line of the stream is an object
start_recv capped --one-off --dir "$work/dst" --psk-file "$work/psk"
expect 0 "$send" --json-stream --stats --bwlimit 2000 --psk-file "$work/psk" "$work/data" "udtx://127.0.0.1:$port/"
wait_for 0 "$receiver"
said "rate cap: 16.4 Mbit/s \(2.05 MB/s\)"
said "limited by: rate cap [0-9]+ % of the time"
said "packets sent: [0-9,]+, lost:"
split -l 1 -a 4 "$work/last.out" "$work/line."
count=$(wc -l <"$work/last.out")
[ "$count" -ge 3 ] || fail "$count lines in three seconds"
number=0
for line in "$work"/line.*; do
    number=$((number + 1))
    if [ "$number" -eq "$count" ]; then
        is "$line" event '"end"'
        is "$line" limited_by '"rate_cap"'
        is "$line" bytes 6000000
    else
        is "$line" event '"progress"'
        # The flush phase starts only after half of the data has arrived.
        [ "$(json_field "$line" bytes_done)" -ge 3000000 ] || ! grep -qE '"phase":"(flush|verify)"' "$line" ||
            fail "$(json_field "$line" phase) too early"
    fi
done

# --- this host's name with its domain gives access to the metrics, and no other name does
if [ "$(id -u)" -eq 0 ] && unshare -m -u true 2>/dev/null; then
    printf '127.0.0.1 localhost\n127.0.1.1 box.example.net box\n' >"$work/hosts"
    cat >"$work/as-box" <<EOF
mount --bind "$work/hosts" /etc/hosts
hostname box
exec "\$@"
EOF
    unshare -m -u bash "$work/as-box" "$recv" --listen 127.0.0.1:0 --metrics 0 --dir "$work/dst" --psk-file "$work/psk" 2>"$work/box.log" &
    box=$!
    receivers+=("$box")
    until_true 90 grep -q "http://" "$work/box.log"
    where=$(sed -nE 's/.*http:\/\/(127[0-9.:]+).*/\1/p' "$work/box.log" | head -n 1)
    ask() {
        exec 8<>"/dev/tcp/${where%:*}/${where##*:}"
        printf 'GET /metrics HTTP/1.1\r\nHost: %s\r\n\r\n' "$1" >&8
        head -n 1 <&8 >"$work/answer"
        exec 8>&-
        grep -q "$2" "$work/answer" || fail "as $1: $(cat "$work/answer")"
    }
    ask box.example.net:9100 200
    ask box 200
    ask box.evil.example 421
    kill -TERM "$box"
    wait_for 0 "$box"
fi

# --- a slow source, and a slow reader
start_recv slow-source --one-off --dir "$work/dst" --psk-file "$work/psk"
expect 0 bash -c "(head -c 1000 '$work/data'; sleep 3; echo) | '$send' --json --psk-file '$work/psk' - udtx://127.0.0.1:$port/n"
wait_for 0 "$receiver"
is "$work/last.out" limited_by '"input"'
: >"$work/slow.log"
mkfifo "$work/fifo"
"$recv" --listen 127.0.0.1:0 --one-off --psk-file "$work/psk" - >"$work/fifo" 2>"$work/slow.log" &
receiver=$!
receivers+=("$receiver")
(sleep 3; cat >/dev/null) <"$work/fifo" &
until_true 90 grep -q listening "$work/slow.log"
port=$(sed -nE 's/.*listening on .*:([0-9]+)\/udp.*/\1/p' "$work/slow.log")
expect 0 bash -c "'$send' --json --psk-file '$work/psk' - udtx://127.0.0.1:$port/n <'$work/data'"
wait_for 0 "$receiver"
is "$work/last.out" limited_by '"receiver_disk"'

# --- a running transfer: its metrics, its status, and another cap
rm "$work/dst/data"  # existing data would not be sent again
start_recv changed --one-off --metrics 0 --dir "$work/dst" --psk-file "$work/psk"
"$send" --rate 1M --metrics :0 --json --psk-file "$work/psk" "$work/data" "udtx://127.0.0.1:$port/" >"$work/changed.json" 2>"$work/last.err" &
sender=$!
receivers+=("$sender")
under_way() { "$send" ctl "$sender" status 2>/dev/null | grep '"phase":"transfer"' | grep -q '"file":"data"'; }
until_true 90 under_way
path_is_there() {
    exec 8<>"/dev/tcp/127.0.0.1/$1"
    printf 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n' >&8
    sed '1,/^\r*$/d' <&8 >"$work/metrics"
    exec 8>&-
    grep -qE '^udtx_path_rtt_seconds\{peer="127.0.0.1:[0-9]+",path="0",.*\} [0-9]' "$work/metrics"
}
for log in "$work/last.err" "$work/changed.log"; do
    metrics=$(sed -nE 's|.*metrics on http://127.0.0.1:([0-9]+)/metrics.*|\1|p' "$log")
    until_true 90 path_is_there "$metrics"
    grep -q '^udtx_transfers_active 1' "$work/metrics" || fail "no active transfer in the metrics"
    check_metrics "$work/metrics"
done
expect 1 "$send" ctl "$sender" rate fast
said "'fast'"
expect 1 "$send" ctl "$sender"
expect 0 "$send" ctl
# listed PID FIELD VALUE...: checks the fields in the list.
listed() {
    grep "^{\"pid\":$1," "$work/last.out" >"$work/one.json" || fail "ctl does not list $1"
    shift
    while [ $# -gt 0 ]; do
        [ "$(json_field "$work/one.json" "$1")" = "$2" ] || fail "ctl says of $1: $(json_field "$work/one.json" "$1")"
        shift 2
    done
}
sender_says=(event '"progress"' program '"udtx-send"' role '"sender"' user "\"$(id -un)\"" port "$port" sources "[\"$work/data\"]"
    destination "\"udtx://127.0.0.1:$port/\"" file '"data"')
receiver_says=(event '"progress"' program '"udtx-recv"' role '"receiver"' port "$port" destination "\"$work/dst\"")
listed "$sender" "${sender_says[@]}"
listed "$receiver" "${receiver_says[@]}"
grep -q '"sources":\["127.0.0.1:' "$work/one.json" || fail "the receiver does not say who sends"
# The other tool prints the same list, and a terminal gets lines.
expect 0 "$recv" ctl --json
listed "$sender" "${sender_says[@]}"
if command -v script >/dev/null; then
    script -qec "$send ctl" /dev/null </dev/null >"$work/last.out"
    grep -q "^$sender  $(id -un)  udtx-send, sender on port $port: $work/data to udtx://127.0.0.1:$port/, .*, data" "$work/last.out" ||
        fail "on a terminal ctl says: $(cat "$work/last.out")"
    grep -q "^$receiver  .*udtx-recv, receiver on port $port: 127.0.0.1:[0-9]* to $work/dst, " "$work/last.out" ||
        fail "on a terminal ctl says: $(cat "$work/last.out")"
fi
expect 11 "$send" ctl 1 status
said "no running transfer"
kill -STOP "$sender"
expect 30 "$send" ctl "$sender" status
said "does not answer"
kill -CONT "$sender"
expect 0 "$send" ctl "$sender" rate off
grep -q "no cap" "$work/last.out" || fail "ctl does not answer"
wait_for 0 "$sender"
wait_for 0 "$receiver"
# At 1 Mbit/s it would have taken 48 s.
awk -v s="$(json_field "$work/changed.json" seconds)" 'BEGIN { exit !(s < 40) }' || fail "the new cap was not taken"
[ -z "$(ls "$work/run/udtx")" ] || fail "sockets were left behind"

# --- a schedule and the host's rate limit as --rate does
for flags in "--schedule 00:00,16M" "--host-rate 16M"; do
    start_recv timed --one-off --dir "$work/dst" --psk-file "$work/psk"
    # shellcheck disable=SC2086
    expect 0 "$send" --json --no-resume $flags --psk-file "$work/psk" "$work/data" "udtx://127.0.0.1:$port/${flags%% *}"
    wait_for 0 "$receiver"
    is "$work/last.out" limited_by '"rate_cap"'
done

# --- a probe needs no file, leaves none, and does not end a receiver of one transfer
mkdir "$work/empty-after"
start_recv probed --one-off --dir "$work/empty-after" --psk-file "$work/psk"
expect 0 "$send" --probe-only --json --rate 10M --psk-file "$work/psk" "udtx://127.0.0.1:$port/"
is "$work/last.out" status '"ok"'
is "$work/last.out" limited_by '"rate_cap"'
awk -v r="$(json_field "$work/last.out" reached_bps)" 'BEGIN { exit !(r > 0 && r <= 10e6) }' || fail "reached_bps"
[ -z "$(ls -A "$work/empty-after")" ] || fail "a probe left something"
expect 0 "$send" --psk-file "$work/psk" "$work/data" "udtx://127.0.0.1:$port/"
wait_for 0 "$receiver"
grep -q "measured the path" "$work/probed.log" || fail "the receiver does not tell of the probe"
