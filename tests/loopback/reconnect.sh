# After a connection times out, the client connects again and the same run completes. By URL, the receiver is killed and
# restarted at the same port. Over ssh, which reports the death of the far end, a new one is started at once. The
# reports cover the whole run: no figure starts over, the outage is shown, and the verdict includes it.
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/dst"
head -c 40000000 /dev/urandom >"$work/file"
# The first 4 MiB are sent before the sender knows what exists.
arriving=$work/dst
begun() { [ -n "$(find "$arriving" -name '*.part' -size +8000k)" ] || [ -e "$arriving/file" ]; }
start() {
    "$1" --timeout 12 --rate 40M --json-stream --progress --report "$work/report.html" "${@:2}" >"$work/send.out" 2>"$work/last.err" &
    sender=$!
    receivers+=("$sender")
    until_true 120 begun
}
silent() { grep -q '"phase":"outage"' "$work/send.out"; }
# never_falls FIELD: the figure never decreases
never_falls() {
    sed -nE "s/^\{\"event\":\"progress\".*\"$1\":([0-9.e+]+).*/\1/p" "$work/send.out" |
        awk -v field="$1" '{ if ($1 + 0 < last) { print field ": " $1 " after " last; bad = 1 } last = $1 } END { exit bad || NR < 3 }' ||
        fail "$1 starts over"
}
# went_on SOURCE DELIVERED: the transfer completes with the right content and figures
went_on() {
    wait_for 0 "$sender"
    cmp "$1" "$2" || fail "not the same"
    said "the connection is lost; reconnecting"
    said "reconnected [0-9]+ times?"
    for field in seconds bytes_done files_done bytes_total; do never_falls "$field"; done
    said "limited by: .*outage [0-9]+ %"
    tail -n 1 "$work/send.out" >"$work/end.json"
    [ "$(json_field "$work/end.json" reconnects)" -ge 1 ] || fail "reconnects are not counted"
    [ "$(json_field "$work/end.json" sent_bytes)" -lt 75000000 ] || fail "it was begun anew"
    grep -q '"outage":0\.[0-9]' "$work/end.json" || fail "the outage has no share"
    [ "$(json_field "$work/end.json" files)" = 1 ] || fail "the file is not counted"
    # The page includes the time before the outage: its first sample is of the first connection.
    [ ! -s "$work/report.html" ] || grep -q '"history":\[\[[01]\(\.[0-9]*\)\?,' "$work/report.html" || fail "the page's history starts over"
}

# The second receiver needs the same port, so the test takes one that other programs rarely use.
for _ in 1 2 3 4 5; do
    port=$((20000 + RANDOM % 12000))
    "$recv" --listen "127.0.0.1:$port" --psk-file "$work/psk" --dir "$work/dst" 2>"$work/first.log" &
    receiver=$!
    receivers+=("$receiver")
    for _ in $(seq 600); do
        ! grep -q listening "$work/first.log" || break 2
        kill -0 "$receiver" 2>/dev/null || break
        sleep 0.05
    done
done
start "$send" --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/"
kill -KILL "$receiver"
wait_for 137 "$receiver"
until_true 60 silent
"$recv" --listen "127.0.0.1:$port" --allow-read --psk-file "$work/psk" --dir "$work/dst" 2>"$work/second.log" &
receivers+=("$!")
went_on "$work/file" "$work/dst/file"
said "no answer from .* for [0-9]+ s, trying again until --timeout, 12"

# The same for a pull: a third receiver at that port replaces the second.
receiver=$!
arriving=$work/got
mkdir "$arriving"
start "$recv" --psk-file "$work/psk" "udtx://127.0.0.1:$port/file" "$arriving/"
kill -KILL "$receiver"
wait_for 137 "$receiver"
until_true 60 silent
"$recv" --listen "127.0.0.1:$port" --allow-read --psk-file "$work/psk" --dir "$work/dst" 2>"$work/third.log" &
receivers+=("$!")
went_on "$work/file" "$arriving/file"
said "no answer from .* for [0-9]+ s, trying again until --timeout, 12"
arriving=$work/dst

# Many files into a new directory: each counts once, and none existed before.
mkdir "$work/many" "$work/fresh"
for i in $(seq 200); do head -c 200000 "$work/file" >"$work/many/f$i"; done
receiver=$!
kill -KILL "$receiver"
wait_for 137 "$receiver"
listen_there() {
    "$recv" --listen "127.0.0.1:$port" --psk-file "$work/psk" --dir "$work/fresh" 2>"$work/many.log" &
    receiver=$!
    receivers+=("$receiver")
}
listen_there
until_true 60 grep -q listening "$work/many.log"
"$send" --timeout 12 --rate 40M --json --psk-file "$work/psk" "$work/many" "udtx://127.0.0.1:$port/" >"$work/many.json" 2>"$work/last.err" &
sender=$!
receivers+=("$sender")
half() { [ "$(find "$work/fresh/many" -name 'f*' 2>/dev/null | wc -l)" -ge 100 ]; }
until_true 120 half
kill -KILL "$receiver"
wait_for 137 "$receiver"
listen_there
wait_for 0 "$sender"
diff -r "$work/many" "$work/fresh/many" || fail "not the same"
counts=$(for field in reconnects files bytes unchanged resumed_bytes sent_bytes; do json_field "$work/many.json" "$field"; done | tr '\n' ' ')
[ "$counts" = "1 200 40000000 0 0 40000000 " ] || fail "reconnects, files, bytes, unchanged, resumed and sent bytes are $counts"

# Files with holes also count once. A killed receiver cannot prove that it received them, whether or not it had reported
# them.
mkdir "$work/holes" "$work/sparse"
for i in $(seq 42); do
    head -c 1200000 "$work/file" >"$work/holes/f$i"
    [ $((i % 3)) -ne 0 ] || { truncate -s 3145728 "$work/holes/f$i" && head -c 204800 "$work/file" >>"$work/holes/f$i"; }
done
listen_for_holes() {
    "$recv" --listen "127.0.0.1:$port" --psk-file "$work/psk" --dir "$work/sparse" 2>"$work/holes.log" &
    receiver=$!
    receivers+=("$receiver")
}
kill -KILL "$receiver"
wait_for 137 "$receiver"
listen_for_holes
until_true 60 grep -q listening "$work/holes.log"
"$send" --timeout 12 --rate 60M --json --psk-file "$work/psk" "$work/holes" "udtx://127.0.0.1:$port/" >"$work/holes.json" 2>"$work/last.err" &
sender=$!
receivers+=("$sender")
for least in 12 28; do
    arrived() { [ "$(find "$work/sparse/holes" -name 'f*' 2>/dev/null | wc -l)" -ge $least ]; }
    until_true 120 arrived
    kill -KILL "$receiver"
    wait_for 137 "$receiver"
    listen_for_holes
done
wait_for 0 "$sender"
diff -r "$work/holes" "$work/sparse/holes" || fail "not the same"
counts=$(for field in files bytes unchanged resumed_bytes; do json_field "$work/holes.json" "$field"; done | tr '\n' ' ')
[ "$counts" = "42 $((28 * 1200000 + 14 * 3350528)) 0 0 " ] || fail "with holes files, bytes, unchanged and resumed bytes are $counts"
# A hole starts and ends at the file system's block boundaries: the size may differ by one block per file in each
# direction.
sent=$(json_field "$work/holes.json" sent_bytes)
least=$((28 * 1200000 + 14 * 1404800))
[ "$sent" -ge "$least" ] && [ "$sent" -le $((least + 14 * 8192)) ] || fail "$sent bytes were sent, not $least"

# lose SIGNAL SECONDS MOST COMMAND...: a receiver gets the signal during a transfer in either direction. The transfer is
# given up after the timeout, at most MOST milliseconds after the signal.
lose() {
    local signal=$1 seconds=$2 most=$3 hit waited
    shift 3
    "$@" --timeout "$seconds" --psk-file "$work/psk" 2>"$work/last.err" &
    sender=$!
    receivers+=("$sender")
    until_true 120 begun
    kill -"$signal" "$receiver"
    hit=$(date +%s%N)
    wait_for 30 "$sender"
    waited=$((($(date +%s%N) - hit) / 1000000))
    kill -CONT "$receiver" 2>/dev/null || true
    # The time counts from the last progress, not from the detection of the loss after half the timeout.
    [ "$waited" -lt "$most" ] || fail "given up after $waited ms instead of $seconds s: $*"
}

# No receiver returns: the retries end, and the message says both.
rm -rf "$work/dst"
mkdir "$work/dst"
start_recv alone --psk-file "$work/psk" --dir "$work/dst"
lose KILL 8 11000 "$send" --rate 24M "$work/file" "udtx://127.0.0.1:$port/"
said "(did not answer|nothing listens).*the same command continues from here; nothing moved for 8.*s while reconnecting"

# The last attempt, which gets no answer, does not last longer either: pushed and pulled.
mkdir "$work/served"
ln "$work/file" "$work/served/file"
start_recv mute --psk-file "$work/psk" --allow-read --dir "$work"
for way in push fetch; do
    rm -rf "$work/dst"
    mkdir "$work/dst"
    if [ $way = push ]; then
        lose STOP 4 5500 "$send" --rate 24M "$work/file" "udtx://127.0.0.1:$port/dst"
    else
        lose STOP 4 5500 "$recv" --rate 24M "udtx://127.0.0.1:$port/served/file" "$work/dst/"
    fi
    said "nothing moved for 4.*s while reconnecting, the last attempt: nothing came back"
done

. "$(dirname "$0")/ssh_lib.sh"
start_sshd
rm -rf "$work/dst"
mkdir "$work/dst"
far_program recv "echo \$\$ >>'$work/far.pids'" "exec '$recv' \"\$@\""
start "$send" "${ssh[@]}" --remote-bin "$work/recv" "$work/file" "far:$work/dst"
kill -KILL "$(tail -n 1 "$work/far.pids")"
went_on "$work/file" "$work/dst/file"
[ "$(wc -l <"$work/far.pids")" -ge 2 ] || fail "no second receiver was started"

# ssh accepts one login, as with a one-time password. The far end stops for longer than the sender waits for answers, so
# the connection is lost. The far end still waits with its port and key: no second login is needed, in either direction.
cat >"$work/once" <<EOF
#!/bin/bash
echo login >>"$work/logins"
[ "\$(wc -l <"$work/logins")" -eq 1 ] || { echo "me@far: Permission denied (keyboard-interactive)." >&2; exit 255; }
exec ssh -F "$ssh_config" "\$@"
EOF
chmod +x "$work/once"
rm "$work/dst/file"
far_program send "echo \$\$ >>'$work/far.pids'" "exec '$send' \"\$@\""
for way in push fetch; do
    rm -rf "$work/logins" "$work/far.pids" "$work/dst"
    mkdir "$work/dst"
    if [ $way = push ]; then
        start "$send" --ssh "$work/once" --remote-bin "$work/recv" "$work/file" "far:$work/dst"
    else
        start "$recv" --ssh "$work/once" --remote-bin "$work/send" "far:$work/file" "$work/dst/"
    fi
    far=$(tail -n 1 "$work/far.pids")
    kill -STOP "$far"
    until_true 60 grep -q "the connection is lost" "$work/last.err"
    kill -CONT "$far"
    went_on "$work/file" "$work/dst/file"
    [ "$(wc -l <"$work/logins")" -eq 1 ] || fail "$way: $(wc -l <"$work/logins") logins"
    until_true 60 test ! -e "/proc/$far"
done

# If the far end has ended, the refused login is the end, and it is told at once.
rm -rf "$work/logins" "$work/far.pids" "$work/dst"
mkdir "$work/dst"
start "$send" --ssh "$work/once" --remote-bin "$work/recv" "$work/file" "far:$work/dst"
kill -KILL "$(tail -n 1 "$work/far.pids")"
hit=$(date +%s%N)
wait_for 40 "$sender"
waited=$((($(date +%s%N) - hit) / 1000000))
[ "$waited" -lt 5000 ] || fail "a refused login was told after $waited ms"
said "ssh was refused by far"
