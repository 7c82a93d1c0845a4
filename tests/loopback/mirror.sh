# --delete, and what -a preserves.
. "$(dirname "$0")/lib.sh"
make_key
src=$work/src
mkdir -p "$src/sub" "$src/empty" "$work/dst"
for f in a b sub/c sub/d; do printf 'content of %s' "$f" >"$src/$f"; done
url=udtx://127.0.0.1
copy() { expect "$1" "$send" -v --json --psk-file "$work/psk" "${@:2}"; }
is() { [ "$(json_field "$work/last.out" "$1")" -eq "$2" ] || fail "$1 is $(json_field "$work/last.out" "$1") instead of $2"; }

# --- a receiver without permission deletes nothing, and names the missing flag
start_recv plain --dir "$work/dst" --psk-file "$work/psk"
copy 11 --delete "$src/" "$url:$port/"
said "--allow-delete"
never_said "same command"  # it would be refused the next time, too
[ -z "$(ls "$work/dst")" ] || fail "a refused transfer left something"
expect 1 "$send" --delete --files-from "$work/psk" --psk-file "$work/psk" "$src" "$url:$port/"
said "exclude each other"

start_recv r --allow-delete --dir "$work/dst" --psk-file "$work/psk"
url=$url:$port
mkdir -p "$work/dst/tree/src/old/deep" "$work/dst/tree/beside"
for f in src/gone src/old/deep/x src/old.keep beside/theirs theirs; do printf 'x' >"$work/dst/tree/$f"; done
cp -r "$work/dst/tree" "$work/before"

# --- a dry run lists the deletions
expect 0 "$send" -n --delete --exclude '*.keep' --psk-file "$work/psk" "$src" "$url/tree"
[ "$(grep -c '^\*deleting ' "$work/last.out")" -eq 4 ] || fail "the dry run lists $(cat "$work/last.out")"
diff -r "$work/dst/tree" "$work/before" || fail "a dry run changed something"

# --- deletes only below what was sent; excluded entries stay
copy 0 --delete --exclude '*.keep' "$src" "$url/tree"
is deleted 4
said "delete src/old/deep/x"
[ -e "$work/dst/tree/src/old.keep" ] || fail "an excluded file was deleted"
[ -e "$work/dst/tree/theirs" ] && [ -e "$work/dst/tree/beside/theirs" ] || fail "something beside what was sent was deleted"
rm "$work/dst/tree/src/old.keep"
diff -r "$src" "$work/dst/tree/src" || fail "the trees differ"

# --- unchanged files keep their names; files that the sender lost are deleted
rm "$src/b" "$src/sub/d"
copy 0 --delete "$src/" "$url/tree/src"
is deleted 2
is unchanged 2
diff -r "$src" "$work/dst/tree/src" || fail "the trees differ"

# --- no deletion after errors, or for an empty source
printf 'x' >"$work/dst/tree/src/extra"
mkfifo "$work/fifo"
copy 23 --delete "$src" "$work/none" "$url/tree"
said "nothing is deleted"
[ -e "$work/dst/tree/src/extra" ] || fail "files were deleted though a source was missing"
# nor after an error at the receiver: both ends report that
echo x >"$src/clash"
echo y >"$src/another"
mkdir -p "$work/dst/tree/src/clash/inside"
copy 23 --delete --exclude inside "$src/" "$url/tree/src"
said "the receiver deleted nothing, because of errors"
grep -q '"warnings":\[".*deleted nothing' "$work/last.out" || fail "the JSON object does not say that nothing was deleted"
grep -q "nothing was deleted, because not everything arrived" "$work/r.log" || fail "the receiver does not say that nothing was deleted"
[ -e "$work/dst/tree/src/extra" ] || fail "files were deleted after an error at the receiver"
rm -r "$src/clash" "$src/another" "$work/dst/tree/src/clash" "$work/dst/tree/src/another"
copy 11 --delete "$src/empty/" "$url/tree/src"
said "the sources are empty"
never_said "because of errors"
[ -e "$work/dst/tree/src/a" ] || fail "an empty source emptied the destination"

# --- a file that comes where a directory is: the directory loses nothing if one of its entries must stay
mkdir "$work/file" "$work/tree"
echo new >"$work/file/full"
echo more >"$work/file/more"
start_recv pulled --allow-read --dir "$work/file" --psk-file "$work/psk"
pulled=$port
start_recv ways --allow-delete --dir "$work/tree" --psk-file "$work/psk"
denied=
mount_here() { :; }
occupy() {
    ! mountpoint -q "$work/tree/d/${at:-}" || umount "$work/tree/d/$at"
    [ ! -d "$work/tree/d" ] || chmod -R u+rwx "$work/tree/d"
    rm -rf "$work/tree/d"
    mkdir -p "$work/tree/d/full/a" "$work/tree/d/full/z"
    touch "$work/tree/d/full/keep1" "$work/tree/d/full/other" "$work/tree/d/full/a/1" "$work/tree/d/full/z/2"
    [ -z "$denied" ] || chmod 500 "$work/tree/d/full/$denied"
    mount_here
}
# comes CODE FLAGS...: as push and as pull, and as a dry run of both
comes() {
    local wanted=$1 how
    shift
    for how in push pull dry-push dry-pull; do
        occupy
        local command=("$send" --psk-file "$work/psk" --delete "$@" "$work/file/" "udtx://127.0.0.1:$port/d")
        [[ $how != *pull ]] || command=("$recv" --psk-file "$work/psk" --delete "$@" "udtx://127.0.0.1:$pulled/./" "$work/tree/d")
        [[ $how != dry* ]] || command+=(-n)
        (cd "$work/tree" && find . | LC_ALL=C sort) >"$work/before.list"
        expect "$wanted" "${command[@]}"
        ! grep -q "^\*deleting" "$work/last.out" || [ "$wanted" -eq 0 ] || fail "$how: it lists deletions: $(cat "$work/last.out")"
        (cd "$work/tree" && find . | LC_ALL=C sort) | grep -vE '^./d/(more|.udtx-.*journal)$' >"$work/after.list"
        [ "$wanted" -eq 0 ] || never_said "[1-9][0-9]* deleted|nothing else was deleted"
        [[ $how != dry* && $wanted -eq 0 ]] || diff "$work/before.list" "$work/after.list" || fail "$how: something was deleted"
        [ "$wanted" -ne 0 ] || [[ $how = dry* ]] || cmp "$work/file/full" "$work/tree/d/full" || fail "$how: the file did not arrive"
        [ -z "$(find "$work/tree" -name '.udtx-*.part')" ] || fail "$how: something is left: $(ls -lA "$work/tree/d")"
    done
}
comes 0
comes 23 --exclude 'keep*'
said "full/keep1' is excluded"
comes 23 --exclude 2
comes 23 --exclude 'full/'

denied=z  # a directory that denies its owner the right to write is opened up
comes 0
denied=

# --- mount points: nothing in them is deleted, neither for a file that comes nor as a name that the sender lacks
if [ "$(id -u)" -eq 0 ] && mkdir "$work/disk" && mount -t tmpfs disk "$work/disk" 2>/dev/null; then
    mounted+=("$work/disk")
    echo theirs >"$work/disk/theirs"
    for at in full full/vol; do
        for kind in tmpfs bind; do
            mount_here() {
                mkdir -p "$work/tree/d/$at"
                if [ "$kind" = bind ]; then mount --bind "$work/tree/elsewhere" "$work/tree/d/$at"; else mount --bind "$work/disk" "$work/tree/d/$at"; fi
                mounted+=("$work/tree/d/$at")
            }
            mkdir -p "$work/tree/elsewhere"
            echo theirs >"$work/tree/elsewhere/theirs"
            comes 23
            said "is (not deleted: it is )?a mount point"
            umount "$work/tree/d/$at"
            [ -e "$work/disk/theirs" ] && [ -e "$work/tree/elsewhere/theirs" ] || fail "$at, $kind: a mounted directory lost a file"
        done
    done
    at=vol
    occupy
    expect 23 "$send" -n --json --psk-file "$work/psk" --delete "$work/file/" "udtx://127.0.0.1:$port/d"
    is deleted 6
    expect 23 "$send" --json --psk-file "$work/psk" --delete "$work/file/" "udtx://127.0.0.1:$port/d"
    is deleted 6
    said "'vol' is not deleted: it is a mount point"
    cmp "$work/file/full" "$work/tree/d/full" || fail "the file did not arrive"
    [ -e "$work/tree/d/vol/theirs" ] || fail "a mounted directory that the sender lacks lost a file"
    # What the source has too is compared.
    mkdir "$work/file/vol"
    expect 0 "$send" --json --psk-file "$work/psk" --delete "$work/file/" "udtx://127.0.0.1:$port/d"
    is deleted 1
    rmdir "$work/file/vol"
    umount "$work/tree/d/vol"
    mount_here() { :; }
fi

# --- -a: modes, times, links, hard links, attributes
ln "$src/a" "$src/sub/twin"
ln -s sub "$src/link"
chmod 640 "$src/a"
chmod 711 "$src/sub"
touch -d '2001-02-03 04:05:06.789 UTC' "$src/a" "$src/sub" "$src/empty"
attributes=no
if setfattr -n user.origin -v here "$src/a" 2>/dev/null; then attributes=yes; fi
copy 0 -a "$src" "$url/archive"
listing "$src" >"$work/x"
listing "$work/dst/archive/src" >"$work/y"
diff "$work/x" "$work/y" || fail "modes, times or link targets differ"
[ "$(stat -c %i "$work/dst/archive/src/a")" = "$(stat -c %i "$work/dst/archive/src/sub/twin")" ] || fail "two files instead of two names"
[ "$(stat -c %y "$work/dst/archive/src/a")" = "$(stat -c %y "$src/a")" ] || fail "the time is not exact"
if [ "$attributes" = yes ] && setfattr -n user.test "$work/dst/archive" 2>/dev/null; then
    getfattr -n user.origin "$work/dst/archive/src/a" 2>/dev/null | grep -q here || fail "an attribute is missing"
fi
copy 0 -a "$src" "$url/archive"
is files 0
is sent_bytes 0

# --- changed attributes and owners are sent without the data, and removed attributes are removed
if [ "$attributes" = yes ] && setfattr -n user.test "$work/dst/archive/src/sub/c" 2>/dev/null; then
    setfattr -n user.origin -v there "$src/a"
    setfattr -n user.more -v directory "$src/sub"
    copy 0 -a "$src" "$url/archive"
    is files 0
    is sent_bytes 0
    [ "$(getfattr --only-values -n user.origin "$work/dst/archive/src/a" 2>/dev/null)" = there ] || fail "an attribute is old"
    getfattr -n user.more "$work/dst/archive/src/sub" >/dev/null 2>&1 || fail "a directory's attribute is missing"
    ! getfattr -n user.test "$work/dst/archive/src/sub/c" >/dev/null 2>&1 || fail "an attribute stays that the source lost"
fi
if [ "$(id -u)" -eq 0 ] && chown 1234:2345 "$src/sub/c" 2>/dev/null; then
    copy 0 -a "$src" "$url/archive"
    is sent_bytes 0
    [ "$(stat -c %u:%g "$work/dst/archive/src/sub/c")" = 1234:2345 ] || fail "the owner is old"
fi

# --- bits that grant rights are not preserved, and one line says so
chmod 4750 "$src/a"
chmod 2755 "$src/empty"
copy 0 -a "$src" "$url/bits"
[ "$(grep -c 'set-user-ID' "$work/last.err")" -eq 1 ] || fail "lost bits are not told, or more than once"
said "set-user-ID.*only with --set-id: 1 entry has one"
[ "$(stat -c %a "$work/dst/bits/src/empty")" = 2755 ] || fail "a directory lost set-group-ID"
[ "$(stat -c %a "$work/dst/bits/src/a")" = 750 ] || fail "the other bits are lost"
chmod 640 "$src/a"
chmod 755 "$src/empty"

# --- -S: zeros become holes
head -c 4000000 /dev/zero >"$work/zeros"
copy 0 -S "$work/zeros" "$url/"
cmp "$work/zeros" "$work/dst/zeros" || fail "the files differ"
[ "$(du -k "$work/dst/zeros" | cut -f1)" -lt 100 ] || fail "zeros were written"

# --- the sender may start a long file before the receiver reports that it has it: that costs only one block
head -c 3500000 /dev/urandom >"$work/long"
copy 0 "$work/long" "$url/"
inode=$(stat -c %i "$work/dst/long")
copy 0 "$work/long" "$url/"
is unchanged 1
is files 0
[ "$(json_field "$work/last.out" sent_bytes)" -le 1048576 ] || fail "more than a block of a file that is the same was sent"
touch -d '2002-03-04 05:06:07 UTC' "$work/long"
copy 0 "$work/long" "$url/"
is unchanged 1
[ "$(stat -c %Y "$work/dst/long")" = "$(stat -c %Y "$work/long")" ] || fail "the time was not set"
[ "$(stat -c %i "$work/dst/long")" = "$inode" ] || fail "a file that is the same was written anew"
printf 'surely another' | dd of="$work/long" bs=1 seek=3400000 conv=notrunc status=none
copy 0 "$work/long" "$url/"
is files 1
[ "$(json_field "$work/last.out" sent_bytes)" -le $((2 * 1048576)) ] || fail "blocks that are the same were sent"
cmp "$work/long" "$work/dst/long" || fail "the files differ"

# --- a receiver that overwrites nothing, whatever the sender requests
start_recv never --overwrite never --dir "$work/dst" --psk-file "$work/psk"
printf 'new' >"$work/zeros"
copy 0 --overwrite always "$work/zeros" "udtx://127.0.0.1:$port/"
is skipped 1
[ "$(stat -c %s "$work/dst/zeros")" -eq 4000000 ] || fail "the receiver let a file be overwritten"
printf 'surely another' | dd of="$work/long" bs=1 seek=9 conv=notrunc status=none
copy 0 "$work/long" "udtx://127.0.0.1:$port/"
is skipped 1
! cmp -s "$work/long" "$work/dst/long" || fail "the receiver let a long file be overwritten"
[ -z "$(find "$work/dst" -name '.udtx-*.part')" ] || fail "a temporary file is left"
