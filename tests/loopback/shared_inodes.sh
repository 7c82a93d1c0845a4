# Files of the destination that share their inode with other names: a snapshot by hard links, or a tool that finds equal
# files. What changes at the source changes in this tree only, and comes to rest.
. "$(dirname "$0")/lib.sh"
make_key

state() { stat -c '%a %u %Y' "$1"; }
attribute() { python3 -c "import os, sys; os.${1}xattr(sys.argv[1], 'user.note'$2)" "$3" 2>/dev/null; }
start_recv server --allow-read --dir "$work" --psk-file "$work/psk"
url=udtx://127.0.0.1:$port
# bring HOW FLAGS...: brings the source to the destination, by a push or a fetch.
bring() {
    local how=$1
    shift
    if [ "$how" = push ]; then
        expect 0 "$send" "$@" --json --psk-file "$work/psk" "$work/src/" "$url/dst"
    else
        expect 0 "$bin/udtx-recv" "$@" --json --psk-file "$work/psk" "$url/src/" "$work/dst"
    fi
}
# rests HOW FLAGS...: another run has nothing to do.
rests() {
    local before
    before=$(cd "$work/dst" && stat -c '%n %i %a %Y %z' -- *)
    bring "$@"
    [ "$(cd "$work/dst" && stat -c '%n %i %a %Y %z' -- *)" = "$before" ] || fail "$*: it does not come to rest"
}
begin() {
    rm -rf "$work/src" "$work/dst" "$work/snapshot"
    mkdir "$work/src"
    head -c 3000000 /dev/urandom >"$work/src/big"
    for name in private note owned marked; do echo "content of $name" >"$work/src/$name"; done
    chmod 644 "$work/src"/*
    touch -d 2020-01-02 "$work/src"/*
}

# --- a snapshot: mode, time, owner and attributes change, each alone
for how in push fetch; do
    begin
    bring $how -a
    cp -al "$work/dst" "$work/snapshot"
    before=$(cd "$work/snapshot" && stat -c '%n %a %u %Y' -- *)
    chmod 600 "$work/src/private"
    touch -d 2021-02-03 "$work/src/big" "$work/src/note"
    [ "$(id -u)" -ne 0 ] || chown 12345:12345 "$work/src/owned"
    marked=
    ! attribute set ", b'1'" "$work/src/marked" || marked=yes
    bring $how -a
    [ "$(json_field "$work/last.out" sent_bytes)" -eq 0 ] || fail "$how: content was sent"
    for name in big private note owned marked; do
        cmp "$work/src/$name" "$work/dst/$name"
        [ "$(state "$work/dst/$name")" = "$(state "$work/src/$name")" ] || fail "$how: $name has $(state "$work/dst/$name")"
    done
    [ "$(cd "$work/snapshot" && stat -c '%n %a %u %Y' -- *)" = "$before" ] || fail "$how: the snapshot changed"
    [ -z "$marked" ] || attribute get "" "$work/dst/marked" || fail "$how: the attribute is missing"
    ! attribute get "" "$work/snapshot/marked" || fail "$how: the snapshot has the attribute"
    rests $how -a
    # What has not changed still shares its content.
    [ "$(stat -c %i "$work/dst/big")" != "$(stat -c %i "$work/snapshot/big")" ] || fail "$how: the time was set for both"
done
[ -z "$(find "$work/dst" -name '.udtx*')" ] || fail "something was left behind"

# --- three names of equal bytes and three times
for flags in "" -p -a -ac; do
    begin
    rm "$work/src"/*
    for i in 1 2 3; do
        echo same >"$work/src/f$i"
        touch -d "2020-01-0$i" "$work/src/f$i"
    done
    bring push $flags
    for i in 2 3; do ln -f "$work/dst/f1" "$work/dst/f$i"; done
    bring push $flags
    for i in 1 2 3; do
        [ "$(state "$work/dst/f$i")" = "$(state "$work/src/f$i")" ] || fail "three names, '$flags': f$i has $(state "$work/dst/f$i")"
    done
    rests push $flags
done

# --- a link group is split at the source, with other modes and times, and content that changes a little
begin
ln "$work/src/big" "$work/src/twin"
ln "$work/src/big" "$work/src/third"
bring push -a
[ "$(stat -c %h "$work/dst/big")" -eq 3 ] || fail "the links did not arrive"
for name in twin third; do
    cp "$work/src/$name" "$work/copy"
    mv "$work/copy" "$work/src/$name"
done
touch -d 2020-01-02 "$work/src/big"
touch -d 2020-01-03 "$work/src/twin"
touch -d 2020-01-04 "$work/src/third"
chmod 600 "$work/src/big"
chmod 640 "$work/src/twin"
echo more >>"$work/src/third"
for _ in 1 2; do
    bring push -a
    for name in big twin third; do
        [ "$(state "$work/dst/$name")" = "$(state "$work/src/$name")" ] || fail "split: $name has $(state "$work/dst/$name")"
        cmp "$work/src/$name" "$work/dst/$name"
    done
done
rests push -a

# --- a link group that stays one at the source stays one here, with what it gets now
begin
ln "$work/src/big" "$work/src/twin"
bring push -a
chmod 600 "$work/src/big"
touch -d 2022-01-01 "$work/src/big"
inode=$(stat -c %i "$work/dst/big")
bring push -a
[ "$(stat -c %i "$work/dst/big")" = "$inode" ] || fail "a file of which all names are ours was copied"
[ "$(stat -c %i "$work/dst/big")" = "$(stat -c %i "$work/dst/twin")" ] || fail "the names are two files now"
[ "$(state "$work/dst/twin")" = "$(state "$work/src/twin")" ] || fail "the group has $(state "$work/dst/twin")"
rests push -a
