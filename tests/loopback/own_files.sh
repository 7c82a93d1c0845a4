# The files that a receiver makes for itself have their own modes, go when they are not needed, take no more space than
# their data, and list only what is on disk.
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/src"
for i in 1 2 3; do echo "content $i" >"$work/src/f$i"; done
head -c 3000000 /dev/urandom >"$work/src/big"
own() { find "$work/dst" -name '.udtx*' "$@"; }
anew() {
    rm -rf "$work/dst"
    mkdir "$work/dst"
}
# cut_short ARGS...: starts to send the large file, and kills the sender when the receiver has some of it.
cut_short() {
    "$send" --rate 100M "$@" --psk-file "$work/psk" "$work/large" "udtx://127.0.0.1:$port/" >/dev/null 2>&1 &
    local sender=$!
    receivers+=("$sender")
    begun() { [ "$(du -sk "$work/dst" | cut -f1)" -ge 12000 ]; }
    until_true 60 begun
    kill -KILL "$sender"
    wait "$sender" 2>/dev/null || true
}
mkdir "$work/large"
head -c 60000000 /dev/urandom >"$work/large/data"

# --- whatever the umask is
for mask in 0777 0277 0477; do
    anew
    (umask $mask && exec "$recv" --listen 127.0.0.1:0 --dir "$work/dst" --psk-file "$work/psk" >"$work/masked.log" 2>&1) &
    receiver=$!
    receivers+=("$receiver")
    until_true 60 grep -q listening "$work/masked.log"
    port=$(sed -nE 's/.*listening on .*:([0-9]+)\/udp.*/\1/p' "$work/masked.log")
    cut_short --timeout 5
    [ -n "$(own -name '*.journal')" ] && [ -n "$(own -name '*.part')" ] || fail "umask $mask: there is nothing to resume"
    [ -z "$(own ! -perm -600)" ] || fail "umask $mask: $(own ! -perm -600 -printf '%f has mode %m')"
    expect 0 "$send" --json --psk-file "$work/psk" "$work/large" "udtx://127.0.0.1:$port/"
    never_said "no resume"
    [ "$(json_field "$work/last.out" resumed_bytes)" -gt 0 ] || fail "umask $mask: nothing was resumed"
    expect 0 "$send" --psk-file "$work/psk" "$work/src" "udtx://127.0.0.1:$port/a/b"
    [ -z "$(own)" ] || fail "umask $mask: $(own) was left behind"
    kill "$receiver"
    wait_for 0 "$receiver"
    wanted=$(printf %o $((0644 & ~mask)))
    [ "$(stat -c %a "$work/dst/a/b/src/f1")" = "$wanted" ] || fail "umask $mask: a file has $(stat -c %a "$work/dst/a/b/src/f1")"
done

# --- a sender that was killed leaves no more than its data
for _ in 1; do
    anew
    start_recv killed --dir "$work/dst" --psk-file "$work/psk" --timeout 4
    cut_short --timeout 4
    given_back() {
        [ -n "$(own -name '*.part')" ] || return 1
        # The tail of a block may be allocated.
        [ "$(own -name '*.part' -printf '%b %s\n' | awk '$1 * 512 > $2 + 65536' | wc -l)" -eq 0 ]
    }
    until_true 60 given_back
    kill "$receiver"
    wait_for 0 "$receiver"
done

# --- calls that fail leave nothing behind, or at least say so
need_strace
for number in $(seq 1 24); do
    anew
    printf '#!/bin/sh\nexec strace -D -f -qq -o /dev/null -e trace=%%fstat,%%stat -e "inject=%%fstat,%%stat:error=EIO:when=%s" "%s" "$@"\n' \
        "$number" "$bin/udtx-recv" >"$work/recv"
    chmod +x "$work/recv"
    "$work/recv" --listen 127.0.0.1:0 --one-off --dir "$work/dst" --psk-file "$work/psk" >"$work/f.out" 2>"$work/f.log" &
    receiver=$!
    receivers+=("$receiver")
    begun() { grep -q listening "$work/f.log" || ! kill -0 "$receiver" 2>/dev/null; }
    until_true 60 begun
    port=$(sed -nE 's/.*listening on .*:([0-9]+)\/udp.*/\1/p' "$work/f.log")
    [ -n "$port" ] || continue  # it failed before it could serve
    got=0
    timeout 60 "$send" --timeout 10 --psk-file "$work/psk" "$work/src" "udtx://127.0.0.1:$port/" >"$work/last.out" 2>"$work/last.err" || got=$?
    [ $got -ne 0 ] || { diff -r "$work/src" "$work/dst/src" && [ -z "$(own)" ]; } ||
        fail "fstat number $number fails: code 0, and $(own) was left behind"
    kill "$receiver" 2>/dev/null || true
    wait "$receiver" 2>/dev/null || true
done

# --- the journal lists no data of which the sync failed
anew
recv_meets fdatasync EIO
start_recv unsynced --dir "$work/dst" --psk-file "$work/psk" --timeout 4
cut_short --timeout 4
recv=$bin/udtx-recv
kill -KILL "$receiver"
wait "$receiver" 2>/dev/null || true
start_recv after --dir "$work/dst" --psk-file "$work/psk"
expect 0 "$send" --json --psk-file "$work/psk" "$work/large" "udtx://127.0.0.1:$port/"
[ "$(json_field "$work/last.out" resumed_bytes)" -eq 0 ] || fail "data counts as delivered of which no sync succeeded"
cmp "$work/large/data" "$work/dst/large/data"
