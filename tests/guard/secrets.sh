# Keys stay secret: they appear in no arguments, environments, most verbose logs, reports, metrics or core dumps. A pin
# that does not match ends the transfer without a question. secrets.sh TOOLS JSON_CHECK
. "$(dirname "$0")/../loopback/lib.sh"
make_key
cd "$work"  # where the kernel would write a core dump
for name in alice bob eve; do "$send" keygen --identity "$work/$name" 2>/dev/null; done
mkdir "$work/dst" "$work/watched"
head -c 3000000 /dev/urandom >"$work/file"

# forms FILE: a key as in its file, in hexadecimal digits of either case, and in parts of its base64 text.
forms() {
    local text hex
    text=$(sed -n 's/^udtx-psk-1 //p' "$1"; grep -v -- ---- "$1" | grep -v '^udtx-' || true)
    hex=$(base64 -d <<<"$text" | tail -c 32 | od -An -v -tx1 | tr -d ' \n')
    printf '%s\n' "$text" "${hex:0:40}" "$(tr a-f A-F <<<"${hex:0:40}")" "$(base64 -d <<<"$text" | tail -c 32 | base64 | cut -c 1-40)"
}
forms "$work/psk" >"$work/patterns"
for name in alice bob; do forms "$work/$name" >>"$work/patterns"; done
grep -q . "$work/patterns" && ! grep -qx '' "$work/patterns" || fail "no secret to look for"
grep -qFf "$work/patterns" "$work/psk" || fail "the search finds no key where there is one"

# watch NAME PID: records what other users see of a process.
watch() {
    local what
    for what in cmdline environ; do tr '\0' '\n' <"/proc/$2/$what" >"$work/watched/$1.$what" 2>/dev/null || true; done
    [ -s "$work/watched/$1.cmdline" ] || fail "$1 could not be looked at"
    if ! sanitized; then
        grep -qE '^Max core file size +0 +0 ' "/proc/$2/limits" || fail "$1 leaves a core dump"
    fi
}

# copy NAME: copies with the flags of $server and $client, at the highest verbosity.
copy() {
    local name=$1 sender
    ulimit -c unlimited 2>/dev/null || true
    start_recv "$name" -v --log "$work/watched/$name.recv-log" --json-stream --metrics 127.0.0.1:0 --dir "$work/dst" "${server[@]}"
    "$send" -v --stats --json-stream --log-format json --log "$work/watched/$name.send-log" --rate 30M "${client[@]}" \
        "$work/file" "udtx://127.0.0.1:$port/$name" >"$work/watched/$name.json" 2>"$work/watched/$name.terminal" &
    sender=$!
    receivers+=("$sender")
    until_true 60 grep -q 'serving 127' "$work/$name.log"
    watch "$name.send" "$sender"
    watch "$name.recv" "$receiver"
    wait_for 0 "$sender"
    # Even a crash leaves no core dump where the kernel would write it.
    kill -ABRT "$receiver"
    wait "$receiver" 2>/dev/null || true
    cp "$work/$name.log" "$work/$name.out" "$work/watched/"
}
server=(--psk-file "$work/psk") client=(--psk-file "$work/psk")
copy shared
server=(--identity "$work/bob" --authorized-keys "$work/alice.pub") client=(--identity "$work/alice" --pin "$work/bob.pub")
copy pinned

# Over ssh the key of one transfer is sent only through standard input.
cat >"$work/ssh" <<EOF
#!/usr/bin/env bash
printf '%s\n' "\$@" >>"$work/watched/ssh.arguments"
tee -a "$work/ssh.stdin" | bash -c "\${!#}"
EOF
chmod +x "$work/ssh"
expect 0 "$send" -v --ssh "$work/ssh" --remote-bin "$recv" "$work/file" "127.0.0.1:$work/dst/by-ssh"
cmp -s "$work/file" "$work/dst/by-ssh" || fail "what went over ssh did not arrive"
cp "$work/last.err" "$work/watched/ssh.terminal"
grep -oE '[0-9a-f]{64}' "$work/ssh.stdin" >"$work/ssh.keys" || fail "no key was sent by ssh"
cut -c 1-40 "$work/ssh.keys" >>"$work/patterns"

found=$(grep -rlFf "$work/patterns" "$work/watched" "$work/dst" || true)
[ -z "$found" ] || fail "a secret is in $found"
[ -z "$(find "$work" -name 'core*')" ] || fail "a core dump was left"
looked=$(find "$work/watched" -type f | wc -l)
[ "$looked" -ge 15 ] || fail "only $looked files were looked at"
fault_case F17 "no secret in arguments, environment, logs, output or core dumps" "none in $looked files"

# No other program of the user reads a key from memory. The files of /proc/PID then belong to root.
user=$(id -u)
as_user=()
if [ "$user" -eq 0 ] && command -v setpriv >/dev/null; then
    user=65534
    as_user=(setpriv --reuid="$user" --regid="$user" --clear-groups)
fi
if ! sanitized && [ "$user" -ne 0 ]; then
    mkdir "$work/theirs"
    cp "$send" "$recv" "$work/psk" "$work/file" "$work/theirs/"
    [ ${#as_user[@]} -eq 0 ] || chown -R "$user" "$work/theirs"
    chmod 755 "$work"
    # exec keeps the process number.
    for tool in udtx-send udtx-recv; do
        printf '#!/bin/sh\nexec %s "%s" "$@"\n' "${as_user[*]}" "$work/theirs/$tool" >"$work/$tool"
        chmod +x "$work/$tool"
    done
    "${as_user[@]}" sleep 600 &
    bystander=$!
    receivers+=("$bystander")
    recv=$work/udtx-recv start_recv theirs -v --dir "$work/theirs" --psk-file "$work/theirs/psk"
    "$work/udtx-send" --psk-file "$work/theirs/psk" --rate 3M "$work/theirs/file" "udtx://127.0.0.1:$port/theirs" 2>/dev/null &
    sender=$!
    receivers+=("$sender")
    until_true 60 grep -q 'serving 127' "$work/theirs.log"
    reads() { "${as_user[@]}" cat "/proc/$1/environ" >/dev/null 2>&1; }
    until_true 60 reads "$bystander"
    for pid in "$sender" "$receiver"; do
        name=$(sed -n 's/^Name:[[:space:]]*//p' "/proc/$pid/status")
        [[ $name == udtx-* ]] || fail "process $pid is $name"
        [ "$(stat -c %u "/proc/$pid/mem")" -eq 0 ] && ! reads "$pid" || fail "other programs of its user may read the memory of $name"
    done
    kill "$sender"
fi

# F11: the server has another identity than before.
start_recv today --dir "$work/dst" --identity "$work/eve" --authorized-keys "$work/alice.pub"
push=("$send" --identity "$work/alice" --pin "$work/bob.pub" --timeout 120 "$work/file" "udtx://127.0.0.1:$port/changed")
began=$SECONDS
expect 40 setsid --wait "${push[@]}" </dev/null
[ $((SECONDS - began)) -lt 60 ] || fail "a changed pin is tried again and again"
said '--pin'
# The result is the same with a terminal and a user who answers yes.
if command -v script >/dev/null; then
    code=0
    printf 'yes\nyes\nyes\n' | timeout 100 script -qec "$(printf '%q ' "${push[@]}")" /dev/null >"$work/last.err" 2>&1 || code=$?
    [ "$code" -eq 40 ] || fail "code $code instead of 40 with a terminal"
fi
[ ! -e "$work/dst/changed" ] || fail "a server with another key got the file"
fault_case F11 "a changed pin ends with code 40, without a question" "code 40 with and without a terminal"
