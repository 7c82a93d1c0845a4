# Disks that refuse some names: refused files fail by name, however many there are, and the rest arrives. All accepted
# names arrive too: names of temporary files need no more than the shortest limit.
. "$(dirname "$0")/lib.sh"
has_fuse || skip "$no_fuse"
make_key

# mount_kind KIND: mounts it at $work/KIND
mount_kind() {
    mkdir -p "$work/$1.backing"
    mount_fuse "$work/$1" refusing_fs.py "$1" "$work/$1.backing" || skip "$no_fuse"
}

# --- fifty names with a colon, a directory and a link with one, and twenty good files after them
mount_kind windows
mkdir -p "$work/src/a" "$work/src/b:dir/sub" "$work/src/c"
for i in $(seq 50); do echo "$i" >"$work/src/a/bad:$i"; done
for i in $(seq 40); do echo "$i" >"$work/src/b:dir/sub/f$i"; done
for i in $(seq 20); do echo "$i" >"$work/src/c/good$i"; done
ln -s c "$work/src/a/link:name"
head -c 3000000 /dev/urandom >"$work/src/c/big"
head -c 9000000 /dev/urandom >"$work/src/a/bad:big"
start_recv windows --json --dir "$work/windows" --psk-file "$work/psk"
expect 23 "$send" -v --json --psk-file "$work/psk" "$work/src/" "udtx://127.0.0.1:$port/"
diff -r "$work/src/c" "$work/windows/c" || fail "good files are missing"
[ "$(json_field "$work/last.out" failed_count)" -eq 94 ] || fail "not 51 files, 42 in and with the directory, and a link"
[ "$(json_field "$work/last.out" files)" -eq 21 ] || fail "not 21 files"
[ "$(json_field "$work/last.out" sent_bytes)" -lt 9000000 ] || fail "a large file was written whose name is refused"
said "bad:[0-9]+': Invalid argument"
[ -z "$(find "$work/windows.backing" -name '*.part')" ] || fail "something was left behind"

# --- the longest names that these disks accept
for kind in text short; do
    mount_kind "$kind"
    mkdir "$work/$kind.src"
    bytes=143
    [ "$kind" = short ] || bytes=255
    name=$(printf 'x'; for _ in $(seq $((bytes / 2))); do printf 'ä'; done)
    [ "$(printf %s "$name" | wc -c)" -eq $bytes ] || fail "the name is not as long as it should be"
    head -c 2500000 /dev/urandom >"$work/$kind.src/$name"
    echo small >"$work/$kind.src/${name%ää}y"
    ln -s nowhere "$work/$kind.src/${name%ä}l"
    ln "$work/$kind.src/$name" "$work/$kind.src/${name%ä}h"
    start_recv "$kind" --dir "$work/$kind" --psk-file "$work/psk"
    expect 0 "$send" -a --psk-file "$work/psk" "$work/$kind.src/" "udtx://127.0.0.1:$port/"
    diff -r --no-dereference "$work/$kind.src" "$work/$kind" || fail "$kind: something is missing"
done

# --- a disk without links, modes and attributes: all data arrives
mount_kind plain
mkdir "$work/plain.src"
echo one >"$work/plain.src/f"
chmod 640 "$work/plain.src/f"
ln "$work/plain.src/f" "$work/plain.src/g"
ln -s f "$work/plain.src/l"
"$python" -c "import os, sys; os.setxattr(sys.argv[1], 'user.note', b'1')" "$work/plain.src/f" 2>/dev/null || true
start_recv plain --dir "$work/plain" --psk-file "$work/psk"
expect 23 "$send" -a --psk-file "$work/psk" "$work/plain.src/" "udtx://127.0.0.1:$port/"
[ "$(cat "$work/plain/f")$(cat "$work/plain/g")" = oneone ] || fail "data is missing"
said "cannot make link 'l': Operation not permitted"
said "another name could not be made of 1 file, which came as copies, first '[fg]'"
said "mode of [0-9]+ files? could not be set"

# --- a dry run predicts that, for a new destination and for one that has everything already
counts() { local field; for field in exit_code files unchanged failed_count; do printf '%s %s ' "$field" "$(json_field "$work/last.out" "$field")"; done; }
expect 23 "$send" -n -H --psk-file "$work/psk" "$work/plain.src/" "udtx://127.0.0.1:$port/again"
said "cannot .*'l': Operation not permitted"
rm "$work/plain.src/l"  # a failed entry leaves a journal, and the next run counts what that proves
for round in 1 2; do
    expect 23 "$send" -n -H --json --psk-file "$work/psk" "$work/plain.src/" "udtx://127.0.0.1:$port/again"
    planned=$(counts)
    said "another name could not be made of 1 file.*Operation not permitted"
    [ "$round" -eq 2 ] || [ ! -e "$work/plain.backing/again" ] || fail "a dry run made the destination"
    expect 23 "$send" -H --json --psk-file "$work/psk" "$work/plain.src/" "udtx://127.0.0.1:$port/again"
    [ "$planned" = "$(counts)" ] || fail "round $round: the dry run predicts $planned, and the run says $(counts)"
    [ -z "$(find "$work/plain.backing/again" -name '*.part')" ] || fail "a probe was left"
done
