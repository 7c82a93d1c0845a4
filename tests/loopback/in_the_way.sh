# An entry in the way of a new one is removed only once the new one has arrived. It is restored if the new one fails
# after all.
. "$(dirname "$0")/lib.sh"
need_strace
make_key
mkdir "$work/src" "$work/dst" "$work/links"
echo new >"$work/src/name"
ln -s target "$work/links/name"
url=udtx://127.0.0.1

occupy() {
    rm -rf "$work/dst/name"
    mkdir "$work/dst/name"
    touch "$work/dst/name/1" "$work/dst/name/2" "$work/dst/name/3"
}
stays() { [ "$(ls "$work/dst/name" 2>&1 | tr '\n' ' ')" = "1 2 3 " ] || fail "$1: a directory lost what is in it, and nothing came: $(ls -A "$work/dst")"; }
honest=$recv

# --- a directory, if the file or link that is to replace it cannot be finished
for calls in renameat fdatasync,syncfs,fsync; do
    for source in src links; do
        [ "$calls/$source" != fdatasync,syncfs,fsync/links ] || continue  # a link has no content
        occupy
        recv_meets "$calls" EIO
        start_recv "no-${calls%%,*}-$source" --one-off --dir "$work/dst" --allow-delete --psk-file "$work/psk"
        got=0
        timeout 60 "$send" --delete --psk-file "$work/psk" "$work/$source/" "$url:$port/" >"$work/last.out" 2>"$work/last.err" || got=$?
        [ "$got" -ne 0 ] || fail "$calls, $source: code 0"
        wait "$receiver" || true
        stays "$calls, $source"
        never_said "[1-9] deleted"
    done
done
recv=$honest
# --- each single rename and deletion that fails while a file replaces a directory: all entries stay unless the file came
for fault in renameat2,renameat=EBUSY renameat2=EIO renameat=EIO unlinkat=EIO unlinkat=EPERM fsync=EIO; do
    for when in 1 2 3; do
        occupy
        recv_meets "${fault%=*}" "${fault#*=}:when=$when"
        start_recv "step-$fault-$when" --one-off --dir "$work/dst" --allow-delete --psk-file "$work/psk"
        got=0
        timeout 60 "$send" --delete --psk-file "$work/psk" "$work/src/" "$url:$port/" >"$work/last.out" 2>"$work/last.err" || got=$?
        wait "$receiver" || true
        if [ -d "$work/dst/name" ]; then
            [ "$got" -ne 0 ] || fail "$fault, $when: code 0"
            stays "$fault, $when"
            never_said "[1-9] deleted"
        else
            cmp "$work/src/name" "$work/dst/name" || fail "$fault, $when: neither the directory nor the file is there: $(ls -lA "$work/dst")"
            [ "$got" -ne 0 ] || [ "$(ls -A "$work/dst")" = name ] || fail "$fault, $when: code 0, and left behind: $(ls -A "$work/dst")"
        fi
        # Whatever was left, the same command completes.
        recv=$honest
        start_recv "after-$fault-$when" --one-off --dir "$work/dst" --allow-delete --psk-file "$work/psk"
        expect 0 "$send" --delete --psk-file "$work/psk" "$work/src/" "$url:$port/"
        wait_for 0 "$receiver"
        [ "$(ls -A "$work/dst")" = name ] && cmp "$work/src/name" "$work/dst/name" || fail "$fault, $when: again: $(ls -lA "$work/dst")"
    done
done

# --- the rest of a directory that could not be deleted is in the way of nothing that comes later under its name
as_kind() {
    rm -rf "$work/kinds"
    mkdir "$work/kinds"
    case $1 in
        file) echo "$2" >"$work/kinds/name" ;;
        link) ln -s "$2" "$work/kinds/name" ;;
        directory) mkdir -p "$work/kinds/name" ;;
    esac
}
for first in file link; do
    for later in file link directory; do
        occupy
        as_kind $first one
        recv_meets unlinkat EPERM:when=2
        start_recv "rest-$first-$later" --one-off --dir "$work/dst" --allow-delete --psk-file "$work/psk"
        expect 23 "$send" --delete --psk-file "$work/psk" "$work/kinds/" "$url:$port/"
        wait "$receiver" || true
        recv=$honest
        [ -n "$(find "$work/dst" -path '*.part/[123]')" ] || fail "no rest of the directory: $(ls -lA "$work/dst")"
        as_kind $later two
        start_recv "beside-$first-$later" --one-off --dir "$work/dst" --psk-file "$work/psk"
        expect 0 "$send" --psk-file "$work/psk" "$work/kinds/" "$url:$port/"
        wait_for 0 "$receiver"
        diff -r --no-dereference "$work/kinds/name" "$work/dst/name" || fail "$first, then $later"
        [ -n "$(find "$work/dst" -path '*.part/[123]')" ] || fail "the rest of the directory is gone without --delete"
        start_recv "cleared-$first-$later" --one-off --dir "$work/dst" --allow-delete --psk-file "$work/psk"
        expect 0 "$send" --delete --psk-file "$work/psk" "$work/kinds/" "$url:$port/"
        wait_for 0 "$receiver"
        [ "$(ls -A "$work/dst")" = name ] || fail "$first, then $later: left $(ls -lA "$work/dst")"
    done
done

# --- and without faults
for source in src links; do
    occupy
    start_recv "well-$source" --one-off --dir "$work/dst" --allow-delete --psk-file "$work/psk"
    expect 0 "$send" --delete --psk-file "$work/psk" "$work/$source/" "$url:$port/"
    wait_for 0 "$receiver"
    [ ! -d "$work/dst/name" ] && [ "$(ls -A "$work/dst")" = name ] || fail "$source: $(ls -lA "$work/dst")"
done

# --- a link, if the directory that is to replace it cannot be made
[ -L "$work/dst/name" ] || fail "no link"
mkdir -p "$work/directory/name"
recv_meets mkdirat ENOSPC:when=2+  # the first call finds the link
start_recv no-mkdir --one-off --dir "$work/dst" --psk-file "$work/psk"
got=0
timeout 60 "$send" --psk-file "$work/psk" "$work/directory/" "$url:$port/" >"$work/last.out" 2>"$work/last.err" || got=$?
[ "$got" -ne 0 ] || fail "mkdirat: code 0"
wait "$receiver" || true
[ "$(readlink "$work/dst/name")" = target ] || fail "a link is gone, and there is no directory: $(ls -lA "$work/dst")"
recv=$honest
start_recv well-mkdir --one-off --dir "$work/dst" --psk-file "$work/psk"
expect 0 "$send" --psk-file "$work/psk" "$work/directory/" "$url:$port/"
wait_for 0 "$receiver"
[ -d "$work/dst/name" ] && [ "$(ls -A "$work/dst")" = name ] || fail "$(ls -lA "$work/dst")"

# --- a temporary file that got a second name meanwhile, as a snapshot by hard links does
mkdir "$work/large" "$work/in"
head -c 40000000 /dev/urandom >"$work/large/f"
begin_and_kill() {
    start_recv begins --dir "$work/in" --psk-file "$work/psk"
    disown "$receiver"
    "$send" --rate 100M --psk-file "$work/psk" "$work/large/" "$url:$port/" >"$work/last.out" 2>"$work/last.err" &
    sender=$!
    receivers+=("$sender")
    begun() { [ -n "$(find "$work/in" -name '*.part' -size +20000k)" ]; }
    until_true 60 begun
    kill -KILL "$receiver" "$sender"
    wait "$sender" 2>/dev/null || true
}
begin_and_kill
cp -al "$work/in" "$work/snapshot"
rm "$work/snapshot"/.udtx-*.journal
before=$(sha1sum <"$(find "$work/snapshot" -name '*.part')")
# A temporary file that cannot be removed is named.
recv_meets unlinkat EPERM
start_recv no-unlink --one-off --dir "$work/in" --psk-file "$work/psk"
got=0
timeout 60 "$send" --psk-file "$work/psk" "$work/large/" "$url:$port/" >"$work/last.out" 2>"$work/last.err" || got=$?
[ "$got" -ne 0 ] || fail "unlinkat: code 0"
said "cannot remove what an earlier run left of 'f', '.udtx-[0-9a-f]*.part'"
wait "$receiver" || true
recv=$honest
start_recv goes-on --one-off --dir "$work/in" --psk-file "$work/psk"
expect 0 "$send" --psk-file "$work/psk" "$work/large/" "$url:$port/"
wait_for 0 "$receiver"
cmp "$work/large/f" "$work/in/f" || fail "not the same"
[ "$(sha1sum <"$(find "$work/snapshot" -name '*.part')")" = "$before" ] || fail "the snapshot was written to"

# --- the journal, too: it is replaced, and the snapshot keeps its own
rm -r "$work/in" "$work/snapshot"
mkdir "$work/in"
begin_and_kill
cp -al "$work/in" "$work/snapshot"
before=$(cat "$work/snapshot"/.udtx-* | sha1sum)
start_recv other-journal --one-off --dir "$work/in" --psk-file "$work/psk"
expect 0 "$send" --psk-file "$work/psk" "$work/large/" "$url:$port/"
wait_for 0 "$receiver"
said "has a second name"
cmp "$work/large/f" "$work/in/f" && [ "$(ls -A "$work/in")" = f ] || fail "not the same: $(ls -A "$work/in")"
[ "$(cat "$work/snapshot"/.udtx-* | sha1sum)" = "$before" ] || fail "the snapshot was written to"

# --- unchanged files are synced to the disk before they are confirmed
strace -D -f -qq -o "$work/calls" -e trace=syncfs "$recv" --listen 127.0.0.1:0 --one-off --dir "$work/in" --psk-file "$work/psk" 2>"$work/last.log" &
receiver=$!
receivers+=("$receiver")
until_true 60 grep -q listening "$work/last.log"
port=$(sed -nE 's/.*listening on .*:([0-9]+)\/udp.*/\1/p' "$work/last.log")
expect 0 "$send" --json --psk-file "$work/psk" "$work/large/" "$url:$port/"
wait_for 0 "$receiver"
[ "$(json_field "$work/last.out" unchanged)" -eq 1 ] || fail "it is not unchanged"
until_true 10 grep -q "syncfs.* = 0" "$work/calls"

# --- an error of syncfs alone: it covers small files that are new, and those that are unchanged
mkdir "$work/small" "$work/none"
for i in $(seq 200); do echo "$i" >"$work/small/f$i"; done
recv_meets syncfs EIO
# With few descriptors, each small file is closed before its batch is synced, however slow the machine is.
sed -i '1a ulimit -n 48' "$work/recv"
start_recv no-syncfs --dir "$work/none" --psk-file "$work/psk"
got=0
timeout 60 "$send" --psk-file "$work/psk" "$work/small/" "$url:$port/" >"$work/last.out" 2>"$work/last.err" || got=$?
[[ $got =~ ^(11|23)$ ]] || fail "code $got, and small files are not durable"
said "Input/output error"
came=$(find "$work/none" -name 'f*' | wc -l)
[ "$came" -lt 200 ] || fail "all files have their names, and the sync of many of them failed"
kill "$receiver"
wait "$receiver" || true
recv=$honest
cp -a "$work/small/." "$work/none/"
recv_meets syncfs EIO
start_recv no-syncfs-unchanged --dir "$work/none" --psk-file "$work/psk"
got=0
timeout 60 "$send" --psk-file "$work/psk" "$work/small/" "$url:$port/" >"$work/last.out" 2>"$work/last.err" || got=$?
[[ $got =~ ^(11|23)$ ]] || fail "code $got, and unchanged files are not durable"
said "cannot sync.*Input/output error"
recv=$honest

# --- a small file whose descriptor is closed before its batch is synced: the error of that close alone
library=$bin/../tests/faults/libfailing_calls.so
if [ -e "$library" ] && ! sanitized; then
    rm -r "$work/none"
    mkdir "$work/none"
    printf '#!/bin/sh\nulimit -n 48\nLD_PRELOAD=%s UDTX_FAULT=close_part:EDQUOT:1 exec "%s" "$@"\n' "$(realpath "$library")" "$(realpath "$recv")" >"$work/recv"
    chmod +x "$work/recv"
    recv=$work/recv
    start_recv no-close --dir "$work/none" --psk-file "$work/psk"
    expect 23 "$send" --json --psk-file "$work/psk" "$work/small/" "$url:$port/"
    [ "$(json_field "$work/last.out" failed_count)" -eq 1 ] || fail "$(json_field "$work/last.out" failed_count) files failed instead of 1"
    said "cannot finish 'f[0-9]*': Disk quota exceeded"
    [ "$(find "$work/none" -name 'f*' | wc -l)" -eq 199 ] || fail "what the disk did not take stands there, or more is missing"
    recv=$honest
fi
