# A disk without locks (a network file system without a lock service): a message says so, no process waits, and resume
# works.
. "$(dirname "$0")/lib.sh"
need_strace
make_key
mkdir "$work/src"
head -c 30000000 /dev/urandom >"$work/src/big"
for error in ENOSYS ENOLCK EOPNOTSUPP EINVAL EINTR; do
    recv_meets flock $error
    rm -rf "$work/dst"
    mkdir "$work/dst"
    start_recv r --dir "$work/dst" --psk-file "$work/psk"
    if [ $error = ENOSYS ]; then
        "$send" --timeout 2 --rate 200M --psk-file "$work/psk" "$work/src" "udtx://127.0.0.1:$port/" >/dev/null 2>&1 &
        sender=$!
        receivers+=("$sender")
        written() { [ "$(du -sk "$work/dst" | cut -f1)" -ge 20000 ]; }
        until_true 30 written
        kill -KILL "$receiver" "$sender"
        wait "$sender" "$receiver" 2>/dev/null || true
        # Without locks no process can prove that the transfer has ended: new temporary files stay.
        expect 0 strace -D -f -qq -o /dev/null -e trace=flock -e inject=flock:error=$error "$bin/udtx-recv" clean "$work/dst"
        said "kept .*journal: it is too new"
        [ -n "$(find "$work/dst" -name '*.part')" ] && [ -n "$(find "$work/dst" -name '*.journal')" ] || fail "clean took what may be in use"
        start_recv r --dir "$work/dst" --psk-file "$work/psk"
    fi
    began=$SECONDS
    expect 0 "$send" --json --psk-file "$work/psk" "$work/src" "udtx://127.0.0.1:$port/"
    [ $((SECONDS - began)) -lt 7 ] || fail "$error: it waited for a lock"
    cmp "$work/src/big" "$work/dst/src/big"
    said "this disk has no locks"
    never_said "another receiver"
    if [ $error = ENOSYS ] && [ "$(json_field "$work/last.out" resumed_bytes)" -lt 1000000 ]; then
        fail "nothing was resumed"
    fi
    [ -z "$(find "$work/dst" -name '*udtx*')" ] || fail "$error: something was left behind"
done

# Without locks, senders that share a rate find each other by their process ids.
recv=$bin/udtx-recv
start_recv shared --one-off --dir "$work/dst" --psk-file "$work/psk"
head -c 200000 /dev/urandom >"$work/data"
expect 0 strace -D -f -qq -o /dev/null -e trace=flock -e inject=flock:error=ENOSYS \
    "$send" --json --host-rate 16M --psk-file "$work/psk" "$work/data" "udtx://127.0.0.1:$port/"
[ "$(json_field "$work/last.out" files)" -eq 1 ] || fail "the file was not sent"
