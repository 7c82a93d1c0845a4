# A receiver started over ssh lives only for its transfer, and its key is never visible. Ctrl-C, and blocked UDP.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/ssh_lib.sh"
start_sshd
mkdir "$work/dst"
head -c 40000000 /dev/urandom >"$work/file"
# Records the receiver's process id and its environment.
far_program recv "echo \$\$ >'$work/far.pid'; tr '\\0' '\\n' </proc/\$\$/environ >'$work/far.environ'" \
    "exec '$recv' \"\$@\""
to=("${ssh[@]}" --remote-bin "$work/recv")
gone() { ! kill -0 "$(cat "$work/far.pid")" 2>/dev/null; }
# The first 4 MiB are sent before the sender knows what exists.
begun() { [ -n "$(find "$work/dst" -name '*.part' -size +8000k)" ] || [ -e "$work/dst/file" ]; }
start_slow() {  # start_slow FLAGS...
    rm -f "$work/far.pid"
    takes_int "$send" "${to[@]}" "$@" --rate 24M --json "$work/file" "far:$work/dst" >"$work/send.out" 2>"$work/last.err" &
    sender=$!
    receivers+=("$sender")
    until_true 120 begun
}

# --- Ctrl-C ends both ends; the same command continues
start_slow
far=$(cat "$work/far.pid")
{ ps -ww -o args= -p "$sender" "$far"; ps -ww -o args= --ppid "$sender"; } >"$work/ps.out"
grep -q bootstrap "$work/ps.out" || fail "ssh and the receiver are not seen"
[ "$(tr '\0' ' ' <"/proc/$far/cmdline")" = "$recv --bootstrap " ] || fail "the receiver has other arguments"
! grep -qE '(^|[^0-9a-f])[0-9a-f]{64}([^0-9a-f]|$)' "$work/ps.out" "$work/far.environ" || fail "the key can be seen"
# Both ends are listed with source and destination.
until_true 60 test -n "$("$recv" ctl | grep "^{\"pid\":$far,")"
"$recv" ctl >"$work/last.out"
grep "^{\"pid\":$far," "$work/last.out" | grep '"role":"receiver"' | grep -q "\"sources\":\[\"127.0.0.1:file\"\].*\"destination\":\"$work/dst\"" ||
    fail "ctl says of the far end: $(cat "$work/last.out")"
grep "^{\"pid\":$sender," "$work/last.out" | grep '"role":"sender"' | grep -q "\"sources\":\[\"$work/file\"\].*\"destination\":\"far:$work/dst\"" ||
    fail "ctl says of the sender: $(cat "$work/last.out")"
kill -INT "$sender"
wait_for 130 "$sender"
said "interrupted by SIGINT.*the same command continues from here"
until_true 120 gone
[ ! -e "$work/dst/file" ] || fail "it was over before the interruption"
expect 0 "$send" "${to[@]}" --json "$work/file" "far:$work/dst"
cmp "$work/file" "$work/dst/file" || fail "not the same"
[ "$(json_field "$work/last.out" resumed_bytes)" -gt 0 ] || fail "it was begun anew"
rm "$work/dst/file"

# --- the receiver of a killed sender waits no longer than the sender would have
start_slow --timeout 6
kill -KILL "$sender"
wait_for 137 "$sender"
until_true 120 gone
rm -rf "$work/dst"
mkdir "$work/dst"

# --- the same command, run at once, waits for that end and continues
start_slow
kill -KILL "$sender"
wait_for 137 "$sender"
expect 0 "$send" "${to[@]}" --json "$work/file" "far:$work/dst"
cmp "$work/file" "$work/dst/file" || fail "not the same"
[ "$(json_field "$work/last.out" resumed_bytes)" -gt 0 ] || fail "it was begun anew"
[ -z "$(find "$work/dst" -name '.*')" ] || fail "something was left"
rm -rf "$work/dst"
mkdir "$work/dst"

# --- blocked UDP: the named port belongs to a socket that no process reads
make_key
start_recv hole --psk-file "$work/psk" --dir "$work/dst"
kill -STOP "$receiver"
far_program blocked "echo \$\$ >'$work/far.pid'" "'$recv' \"\$@\" | sed -u 's/^port .*/port $port/'"
expect 42 "$send" "${ssh[@]}" --remote-bin "$work/blocked" --timeout 2 "$work/file" "far:$work/dst"
said "UDP from here to far is blocked: .*127\.0\.0\.1:$port/udp.*UDP port $port.*-O PORT"
until_true 120 gone

# --- a port in use, and a receiver whose ssh ends before a client connects
expect 10 "$send" "${to[@]}" -O "$port" "$work/file" "far:$work/dst"
said "far: .*$port"
until_true 120 gone
mkfifo "$work/in"
"$recv" --bootstrap -4 -O 30000-39999 <"$work/in" >"$work/bootstrap.out" 2>&1 &
receiver=$!
receivers+=("$receiver")
exec 9>"$work/in"
# The receiver reports its port before it gets a request.
until_true 120 grep -q '^end$' "$work/bootstrap.out"
grep -q '^port 3[0-9]*$' "$work/bootstrap.out" || fail "not the port that was wished for"
greeting=$(sed -n 1p "$work/bootstrap.out")
request() { printf '%s\nkey %064d\nshape file\ndestination %s\ntransfer 0\nname %s\nend\n' "$greeting" 0 "$work/dst/" "$1"; }
request new >&9
until_true 120 grep -q '^fresh 1$' "$work/bootstrap.out"
kill -0 "$receiver" || fail "it does not wait"
exec 9>&-
wait_for 42 "$receiver"
touch "$work/dst/there"
request there | expect 42 "$recv" --bootstrap
! grep -q fresh "$work/last.out" || fail "something stands there"
[ "$(grep -c '^end$' "$work/last.out")" -eq 2 ] || fail "no answer"
rm "$work/dst/there"
expect 12 "$recv" --bootstrap --port 7 </dev/null
grep -q "^message .*--port.*unknown%20after" "$work/last.out" || fail "a word too many"

# --- this side connects while its request is in transit: the request arrives only after that
for far in recv send; do
    far_program "late_$far" "{ until [ -e '$work/connected' ]; do sleep 0.05; done; cat; } | '${!far}' \"\$@\""
done
connects_early() {  # connects_early COMMAND...
    rm -f "$work/connected"
    "$@" -v 2>"$work/last.err" &
    local early=$!
    receivers+=("$early")
    until_true 120 grep -q "connecting to" "$work/last.err"
    touch "$work/connected"
    wait_for 0 "$early"
}
connects_early "$send" "${ssh[@]}" --remote-bin "$work/late_recv" "$work/file" "far:$work/dst/pushed"
cmp "$work/file" "$work/dst/pushed" || fail "pushed"
connects_early "$recv" "${ssh[@]}" --remote-bin "$work/late_send" "far:$work/file" "$work/dst/pulled"
cmp "$work/file" "$work/dst/pulled" || fail "pulled"
rm "$work/dst/pushed" "$work/dst/pulled"

# --- the other IP version, and a host behind another one: ssh's own configuration leads there
if grep -q 'Server listening on ::1' "$work/sshd.log"; then
    expect 0 "$send" "${ssh[@]}" -P "$ssh_port" --remote-bin "$recv" "$work/file" "[::1]:$work/six"
    cmp "$work/file" "$work/six" || fail "nothing came over IPv6"
    expect 0 "$recv" "${ssh[@]}" -P "$ssh_port" --remote-bin "$send" "[::1]:$work/file" "$work/six-pulled"
    cmp "$work/file" "$work/six-pulled" || fail "nothing was pulled over IPv6"
else
    echo "no [::1] here"
fi
expect 0 "$send" "${ssh[@]}" --remote-bin "$recv" "$work/file" "beyond:$work/jumped"
cmp "$work/file" "$work/jumped" || fail "nothing came through a jump host"
expect 0 "$recv" "${ssh[@]}" --remote-bin "$send" "beyond:$work/file" "$work/jumped-pulled"
cmp "$work/file" "$work/jumped-pulled" || fail "nothing was pulled through a jump host"

# --- the doctor examines both ends
expect 0 "$send" doctor --json "${ssh[@]}" --remote-bin "$recv" --dir "$work" "far:$work/dst"
json_field "$work/last.out" host | grep -q "disk of $work: writes" || fail "the doctor tells nothing of this end"
json_field "$work/last.out" far | grep -q "disk of $work/dst: writes" || fail "the doctor tells nothing of the far end"
expect 0 "$send" doctor "${ssh[@]}" --remote-bin "$recv" --dir "$work" "far:$work/dst"
[ "$(grep -c "UDP buffers: " "$work/last.out")" -eq 2 ] || fail "the doctor looked at one end only"
for line in "^good  UDP passes both ways: handshake " "^good  path MTU: [0-9]" "^good  clocks: less than 1 s apart" "RTT: shortest"; do
    grep -qE "$line" "$work/last.out" || fail "the doctor does not say '$line' of what lies in between"
done
expect 11 "$send" doctor "${ssh[@]}" --remote-bin "$recv" --dir "$work" "far:$work/none"
grep -q "^FIX   disk of $work/none: " "$work/last.out" || fail "the far end's disk"
far_program late "'$recv' \"\$@\" | sed -u 's/^clock .*/clock 1700000000000000000/'"
expect 0 "$send" doctor "${ssh[@]}" --remote-bin "$work/late" --dir "$work" far
grep -A 1 "^FIX   clocks: that of far is .* behind" "$work/last.out" | grep -q "timedatectl" || fail "the clocks"
# The time that ssh -G takes must not count as an offset of the other clock.
mkdir "$work/slow"
cat >"$work/slow/ssh" <<EOF
#!/bin/bash
case " \$* " in *" -G "*) sleep 1.7 ;; esac
exec ssh "\$@"
EOF
chmod +x "$work/slow/ssh"
expect 0 "$send" doctor --ssh "'$work/slow/ssh' -F '$ssh_config'" --remote-bin "$recv" --dir "$work" far
grep -q "^good  clocks: less than 1 s apart" "$work/last.out" || fail "the clocks: $(grep clocks "$work/last.out")"
start_recv doctor-hole --psk-file "$work/psk" --dir "$work/dst"
kill -STOP "$receiver"
far_program hole "'$recv' \"\$@\" | sed -u 's/^port .*/port $port/'"
expect 42 "$send" doctor "${ssh[@]}" --remote-bin "$work/hole" -O 61000-61010 --dir "$work" far
grep -A 1 "^FIX   UDP from here to far is blocked" "$work/last.out" | grep -q "on far with: sudo ufw allow 61000:61010/udp" ||
    fail "the doctor does not say how to open ports"
expect 0 "$send" --probe-only --json "${ssh[@]}" --remote-bin "$recv" far:
[ "$(json_field "$work/last.out" reached_bps | cut -d. -f1)" -gt 1000000 ] || fail "the line was not measured"
expect 12 "$send" doctor "${ssh[@]}" --remote-bin "$work/none" --dir "$work" far
said "not found on far; install it or name it with --remote-bin"

# --- a port that accepts the connection and sends nothing: --timeout limits that, and the remedy repeats the typed
# command
python3 -c 'import socket, time
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); print(s.getsockname()[1], flush=True); time.sleep(120)' >"$work/silent" &
receivers+=($!)
until_true 60 test -s "$work/silent"
expect 10 timeout 60 "$send" --ssh "ssh -F none" -P "$(cat "$work/silent")" --timeout 1 "$work/file" 127.0.0.1:
said "ssh could not connect to 127.0.0.1; try: ssh -F none -p $(cat "$work/silent") 127.0.0.1"
