# Metadata that cannot be set (owner, mode, times, attributes, hard links) never costs the data. All data is delivered,
# both ends name each kind of missing metadata once with a count, and the code is 23. strace makes the receiver's system
# calls fail.
. "$(dirname "$0")/lib.sh"
need_strace
make_key

mkdir -p "$work/src/sub"
for i in $(seq 40); do echo "content $i" >"$work/src/f$i"; done
head -c 3000000 /dev/urandom >"$work/src/sub/big"
ln "$work/src/f1" "$work/src/other-name"
ln -s f2 "$work/src/link"
chmod 640 "$work/src/f3"
touch -d 2001-02-03 "$work/src/sub" "$work/src/f4"
with_attributes=
if setfattr -n user.note -v 1 "$work/src/f5" 2>/dev/null || python3 -c \
    "import os, sys; os.setxattr(sys.argv[1], 'user.note', b'1')" "$work/src/f5" 2>/dev/null; then
    with_attributes=yes
fi

# refuse CALLS ERROR FLAGS WHAT COUNT: both ends name WHAT with the count, and all else is complete.
refuse() {
    local calls=$1 error=$2 flags=$3 what=$4 count=$5
    rm -rf "$work/dst"
    mkdir "$work/dst"
    recv_meets "$calls" "$error"
    start_recv r --one-off --json --dir "$work/dst" --psk-file "$work/psk"
    # shellcheck disable=SC2086
    expect 23 "$send" $flags --json --psk-file "$work/psk" "$work/src/" "udtx://127.0.0.1:$port/"
    wait_for 23 "$receiver"
    diff -r --no-dereference "$work/src" "$work/dst" || fail "$calls $error: data is missing"
    said "$what"
    grep -q "$what" "$work/r.log" || fail "$calls $error: the receiver does not say '$what'"
    for end in last r; do
        grep -q '"failed_count":0' "$work/$end.out" || fail "$calls $error: $end counts failed entries"
        grep -q "\"unset\":\[{\"what\":\"$count" "$work/$end.out" || fail "$calls $error: $end: no $count"
    done
}

# 41 files, a second name of one, and the directory; one file has an attribute.
refuse fchmod,fchmodat EPERM -p "mode of .* could not be set, first '.*': Operation not permitted" mode
refuse utimensat EPERM -p "modification time of 4[0-9] entries could not be set, first '.*': Operation not permitted" time
refuse utimensat ENOSYS "" "modification time of 42 files could not be set, first '.*': Function not implemented" time
setfattr_note() { python3 -c "import os, sys; os.setxattr(sys.argv[1], 'user.note', b'1')" "$1" 2>/dev/null; }
has_note() { python3 -c "import os, sys; os.getxattr(sys.argv[1], 'user.note')" "$1" 2>/dev/null; }
for error in "EPERM Operation not" "EACCES Permission" "EINVAL Invalid" "EIO Input/output"; do
    setfattr_note "$work/src/f1" || true
    refuse linkat "${error%% *}" -aH \
        "another name could not be made of 1 file, which came as copies, first '.*': ${error#* }" hard_link
    ! has_note "$work/src/f1" || has_note "$work/dst/other-name" || fail "the copy has no attributes"
    ! has_note "$work/src/f1" || has_note "$work/dst/f1" || fail "the file has no attributes"
    python3 -c "import os, sys; os.removexattr(sys.argv[1], 'user.note')" "$work/src/f1" 2>/dev/null || true
done
if [ "$(id -u)" -eq 0 ]; then
    chown 12345:12345 "$work/src"/f? "$work/src/sub"
    refuse fchown EINVAL --owner "owner of 11 entries could not be set, first '.*': Invalid argument" owner
    refuse fchown ENOSYS --owner "owner of 11 entries could not be set, first '.*': Function not implemented" owner
    chown 0:0 "$work/src"/f? "$work/src/sub"
fi
if [ -n "$with_attributes" ]; then
    for error in ENOSPC E2BIG ERANGE EOPNOTSUPP EPERM; do
        refuse fsetxattr $error -X "extended attributes of 1 file could not be set, first 'f5'" attributes
    done
fi

# --- a disk that cannot sync: everything arrives by every write path, and one line reports it
send_unsynced() {
    local error=$1 warning=$2
    shift 2
    rm -rf "$work/dst"
    mkdir "$work/dst"
    recv_meets fdatasync,fsync,syncfs "$error"
    start_recv unsynced --dir "$work/dst" --psk-file "$work/psk"
    expect 0 "$send" --psk-file "$work/psk" "$@" "udtx://127.0.0.1:$port/"
    [ "$(grep -c "this disk cannot sync ($warning)" "$work/last.err")" -eq 1 ] || fail "$error: not one line says so"
    until_true 10 grep -q "cannot sync" "$work/unsynced.log"
}
for error in "EINVAL Invalid argument" "ENOSYS Function not implemented" "EOPNOTSUPP Operation not supported"; do
    send_unsynced "${error%% *}" "${error#* }" -p "$work/src/"
    diff -r --no-dereference "$work/src" "$work/dst" || fail "$error: data is missing"
done
expect 0 "$send" --psk-file "$work/psk" - "udtx://127.0.0.1:$port/stream" <"$work/src/sub/big"
said "this disk cannot sync"
cmp "$work/src/sub/big" "$work/dst/stream"

# --- a hole at the end, on a disk that cannot extend a file by its size; and a failure to list the running tools does
# not end a transfer
truncate -s 3000000 "$work/hole"
recv_meets ftruncate EPERM
start_recv hole --dir "$work/dst" --psk-file "$work/psk"
mkdir -p -m 700 "$work/run/udtx"
touch "$work/run/udtx/1.sock"
expect 0 env XDG_RUNTIME_DIR="$work/run" strace -D -f -qq -o /dev/null -e trace=getdents64 -e inject=getdents64:error=EIO:when=2+ \
    "$send" --psk-file "$work/psk" "$work/hole" "udtx://127.0.0.1:$port/"
cmp "$work/hole" "$work/dst/hole"

# --- attributes that the sender cannot read: the files arrive, and the sender reports it
if [ -n "$with_attributes" ]; then
    for call in flistxattr fgetxattr; do
        rm -rf "$work/dst"
        mkdir "$work/dst"
        recv=$bin/udtx-recv start_recv unread --dir "$work/dst" --psk-file "$work/psk"
        expect 23 strace -D -f -qq -o /dev/null -e "trace=$call" -e "inject=$call:error=EIO" \
            "$send" -X --psk-file "$work/psk" "$work/src/" "udtx://127.0.0.1:$port/"
        said "extended attributes of .* could not be set, first '.*': cannot be read: Input/output error"
        diff -r --no-dereference "$work/src" "$work/dst" || fail "$call: data is missing"
    done
    # --- attributes that are too many to be sent: both ends say so, pushed, fetched, predicted and as an unchanged file
    set_many() {
        python3 -c "import os, sys
for i in range(65): os.setxattr(sys.argv[1], 'user.n%d' % i, b'')" "$1" 2>/dev/null
    }
    rm -rf "$work/dst" "$work/many"
    mkdir "$work/dst" "$work/many"
    echo many >"$work/many/file"
    if set_many "$work/many/file"; then
        recv=$bin/udtx-recv
        start_recv many --allow-read --dir "$work" --psk-file "$work/psk"
        lost="extended attributes of 1 file could not be set, first 'file': too many or too large: of one entry 64 of 49152 bytes"
        for extra in -n "" "" -n; do
            : >"$work/many.log"
            # shellcheck disable=SC2086
            expect 23 "$send" -X $extra --psk-file "$work/psk" "$work/many/" "udtx://127.0.0.1:$port/dst"
            said "$lost"
            grep -q "$lost" "$work/many.log" || fail "the receiver does not say it: $(cat "$work/many.log")"
        done
        expect 23 "$recv" -X --psk-file "$work/psk" "udtx://127.0.0.1:$port/many/" "$work/dst/fetched"
        said "$lost"
        cmp "$work/many/file" "$work/dst/fetched/file"
    fi
fi
