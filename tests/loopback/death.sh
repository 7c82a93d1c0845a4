# The other end dies by SIGKILL. The end that connects resumes within two seconds of the return of its peer, in both
# directions, by URL and over ssh. A new client takes over from its dead predecessor at once.
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/dst" "$work/got"
# The disk's speed is unimportant; the transfer only has to last long enough.
head -c 24000000 /dev/urandom >"$work/file"
# Two seconds, or six if all processors are busy.
read -r load _ </proc/loadavg
within=2000
[ "${load%.*}" -lt "$(nproc)" ] || within=6000

arriving=$work/dst
begun() { [ -n "$(find "$arriving" -name '*.part' -size +6000k)" ] || [ -e "$arriving/file" ]; }
moves() { [ -n "$(find "$arriving" -name '*.part' -newer "$work/mark" -printf x)" ] || [ -e "$arriving/file" ]; }
# back_since NANOSECONDS WHAT: data moves again within the limit since then
back_since() { true_since "$1" "$within" "$2: back" moves; }
# listen NAME FLAGS...: starts a receiver at the same port
listen() {
    local name=$1
    shift
    "$recv" --listen "127.0.0.1:$port" --psk-file "$work/psk" --dir "$work/dst" "$@" 2>"$work/$name.log" &
    receiver=$!
    receivers+=("$receiver")
}
start() {
    "$@" 2>"$work/last.err" &
    client=$!
    receivers+=("$client")
    until_true 60 begun
}
kill_now() {
    kill -KILL "$1"
    wait "$1" 2>/dev/null || true
    sleep 0.05 # pending writes have their time stamp by then
    touch "$work/mark"
}
finished() {
    wait_for 0 "$client"
    cmp "$work/file" "$arriving/file" || fail "$1: not the same"
    said "the connection is lost; reconnecting"
    never_said "did not answer for"
}

# By URL, pushed; the server restarts after a second.
start_recv first --psk-file "$work/psk" --dir "$work/dst"
start "$send" --rate 200M --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/"
kill_now "$receiver"
sleep 1
listen second --allow-read
back_since "$(now)" "push by URL"
finished "push by URL"

# Pulled; the server restarts at once.
arriving=$work/got
start "$recv" --rate 200M --psk-file "$work/psk" "udtx://127.0.0.1:$port/file" "$work/got/"
kill_now "$receiver"
listen third --allow-read
back_since "$(now)" "pull by URL"
finished "pull by URL"

# The client dies, and the same command runs again: its journal is free at once.
arriving=$work/dst
rm "$work/dst/file"
start "$send" --rate 200M --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/"
kill_now "$client"
again=$(now)
"$send" --rate 200M --json --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/" >"$work/again.json" 2>"$work/last.err" &
client=$!
receivers+=("$client")
back_since "$again" "client again"
wait_for 0 "$client"
cmp "$work/file" "$work/dst/file" || fail "client again: not the same"
[ "$(json_field "$work/again.json" resumed_bytes)" -ge 2000000 ] || fail "client again: what had arrived was sent again"

# No server replaces the killed one: the closed port is noticed soon, and the retries end.
rm "$work/dst/file"
start "$send" --rate 200M --timeout 3 --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/"
kill_now "$receiver"
lost() { grep -q 'connection is lost' "$work/last.err"; }
true_since "$(now)" 2500 "nobody: told" lost
wait_for 30 "$client"
said "nothing listens on UDP 127.0.0.1:$port any more.*while reconnecting"

# Over ssh, in both directions.
. "$(dirname "$0")/ssh_lib.sh"
start_sshd
far_program recv "echo \$\$ >>'$work/far.pids'" "exec '$recv' \"\$@\""
far_program send "echo \$\$ >>'$work/far.pids'" "exec '$send' \"\$@\""
arriving=$work/dst
rm -rf "$work/dst"/* "$work/dst"/.??*
start "$send" --rate 200M "${ssh[@]}" --remote-bin "$work/recv" "$work/file" "far:$work/dst/"
kill_now "$(tail -n 1 "$work/far.pids")"
back_since "$(now)" "push over ssh"
finished "push over ssh"
arriving=$work/got
rm -rf "$work/got"/* "$work/got"/.??*
start "$recv" --rate 200M "${ssh[@]}" --remote-bin "$work/send" "far:$work/dst/file" "$work/got/"
kill_now "$(tail -n 1 "$work/far.pids")"
back_since "$(now)" "pull over ssh"
finished "pull over ssh"

# Only ssh dies: the transfer does not need it.
rm "$work/got/file"
start "$recv" --rate 200M "${ssh[@]}" --remote-bin "$work/send" "far:$work/dst/file" "$work/got/"
kill -KILL "$(pgrep -P "$client" -x ssh)"
wait_for 0 "$client"
cmp "$work/file" "$work/got/file" || fail "without ssh: not the same"
never_said "connection is lost"

# A dead client is noticed on every protocol thread: the kernel may report it to any of them.
start_recv threads --protocol-threads 4 -v --psk-file "$work/psk" --dir "$work/dst"
for i in 1 2 3 4; do
    arriving=$work/dst/client$i
    mkdir "$arriving"
    start "$send" --rate 100M --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/client$i/"
    kill_now "$client"
done
noticed() { [ "$(grep -c "nothing listens on UDP" "$work/threads.log")" -eq 4 ]; }
until_true 20 noticed
