# Times of files, directories and links: beyond 64 bits of nanoseconds, before 1970, and on disks that store another
# time than they are given.
. "$(dirname "$0")/lib.sh"
make_key
src=$work/src

copy() { expect "$1" "$send" -v --json --psk-file "$work/psk" "${@:2}"; }
is() { [ "$(json_field "$work/last.out" "$1")" -eq "$2" ] || fail "$1 is $(json_field "$work/last.out" "$1") instead of $2"; }
times() { (cd "$1" && find . -mindepth 1 -printf '%P %T@\n' | LC_ALL=C sort); }
# Times that the test's own disk cannot store are not under test.
make() {  # NAME TIME
    mkdir -p "$src"
    echo "$1" >"$src/$1"
    touch -d "$2" "$src/$1"
}

make far '2300-01-01 00:00:00.123456789 UTC'
make old '1600-02-03 04:05:06.5 UTC'
make just_before '1969-12-31 23:59:58.25 UTC'
make first '1901-12-13 20:45:52 UTC'
make zero '1970-01-01 00:00:00 UTC'
make now '2024-05-06 07:08:09.123456789 UTC'
mkdir "$src/dir"
ln -s now "$src/link"
touch -h -d '2299-01-01 UTC' "$src/link"
touch -d '1650-01-01 00:00:00.75 UTC' "$src/dir"
touch -d '2400-01-01 UTC' "$src"
[ "$(stat -c %Y "$src/far")" = 10413792000 ] || skip "the disk of $work does not hold the year 2300"

# --- they arrive unchanged, and the same command finds nothing to do; also with a journal, in a dry run, and pulled
mkdir "$work/dst"
start_recv r --dir "$work/dst" --allow-read --psk-file "$work/psk"
url=udtx://127.0.0.1:$port
copy 0 -a "$src/" "$url/a"
never_said "could not be preserved"
diff <(times "$src") <(times "$work/dst/a") || fail "times differ"
copy 0 -a "$src/" "$url/a"
is files 0
is unchanged 7
expect 0 "$recv" --json -a --psk-file "$work/psk" "$url/a/" "$work/fetched"
diff <(times "$src") <(times "$work/fetched") || fail "times differ when fetched"
# a time that differs by more than 64 bits of nanoseconds is a different time
touch -d '1715-06-13 00:25:26.580448373 UTC' "$work/dst/a/far"
copy 0 -a "$src/" "$url/a"
is unchanged 7
is sent_bytes 0
diff <(times "$src") <(times "$work/dst/a") || fail "a time was not mended"

# --- if the disk stores another time, one message says so, and the next run sends nothing again
on() {  # NAME: starts a receiver that writes there
    start_recv "$1" --dir "$work/$1" --psk-file "$work/psk"
    url=udtx://127.0.0.1:$port
}
as_on_a_coarse_disk() {  # NAME COUNT
    on "$1"
    copy 0 "$src/" "$url/a"
    is files 6
    said "receiver: the time of $2 entries could not be preserved: the file system has .* for .* UTC, first '"
    [ "$(grep -c 'could not be preserved' "$work/last.err")" -eq 1 ] || fail "it is said more than once"
    until_true 10 grep -q 'could not be preserved' "$work/$1.log"  # it may write that after the sender has ended
    expect 0 "$send" -n --psk-file "$work/psk" "$src/" "$url/a"
    ! grep -q '^<f' "$work/last.out" || fail "a dry run would send: $(cat "$work/last.out")"
    copy 0 "$src/" "$url/a"
    is files 0
    is unchanged 7
    is resumed_bytes 0
    never_said "could not be preserved"
    # a real change is not taken for the disk's rounding of a time
    echo nwo >"$src/now"
    touch -d '2024-05-06 07:08:12.5 UTC' "$src/now"
    copy 0 "$src/" "$url/a"
    cmp "$src/now" "$work/$1/a/now" || fail "a change went unseen"
    echo now >"$src/now"
    touch -d '2024-05-06 07:08:09.123456789 UTC' "$src/now"
    [ -z "$(find "$work/$1" -name '*.udtx-*')" ] || fail "a probe was left: $(find "$work/$1")"
}

skipped=
if [ "$(id -u)" -eq 0 ] && truncate -s 4M "$work/image" && mkfs.ext4 -q -I 128 "$work/image" >/dev/null 2>/dev/null &&
    mkdir "$work/ext4" && mount -o loop "$work/image" "$work/ext4" 2>/dev/null; then
    mounted+=("$work/ext4")
    as_on_a_coarse_disk ext4 4
    [ "$(stat -c %Y "$work/ext4/a/far")" = 2147483647 ] || fail "ext4 is not as coarse as this test wants it"
else
    skipped="no ext4 with 128-byte inodes can be mounted here"
fi

fuse() {  # KIND
    mkdir "$work/$1.d"
    mount_fuse "$work/$1" times_fuse.py "$1" "$work/$1.d" || fail "$no_fuse"
}
if [ "$(id -u)" -eq 0 ] && has_fuse; then
    fuse fat
    as_on_a_coarse_disk fat 6
    # A disk that sets the time when a file is closed.
    fuse close
    on close
    copy 0 "$src/" "$url/a"
    diff <(times "$src" | grep -v -e dir -e link) <(times "$work/close/a" | grep -v -e dir -e link) || fail "times of when files were closed"
    copy 0 "$src/" "$url/a"
    is unchanged 7
    is resumed_bytes 0
    # A disk that ignores times: everything arrives, and existing files are compared by content.
    # Over a slow path small files come before they are asked for. This one is too large for that.
    head -c 500000 /dev/urandom >"$src/large"
    fuse ignore
    on ignore
    copy 0 "$src/" "$url/a"
    is files 7
    said "the time of 7 entries could not be preserved"
    copy 0 "$src/" "$url/a"
    [ "$(json_field "$work/last.out" sent_bytes)" -le "$(cat "$src"/[!l]* | wc -c)" ] || fail "data that is there was sent again"
    cmp "$src/large" "$work/ignore/a/large" && cmp "$src/now" "$work/ignore/a/now" || fail "the contents differ"
    # A source whose times differ from one look to the next: a second reading tells that nothing was changed.
    fuse replicas
    head -c 3000000 /dev/urandom >"$work/replicas.d/file"
    echo small >"$work/replicas.d/small"
    mkdir "$work/looked"
    on looked
    for _ in 1 2; do
        expect 0 "$send" --psk-file "$work/psk" "$work/replicas/" "$url/a"
        diff -r "$work/replicas.d" "$work/looked/a" || fail "the contents differ"
    done
else
    skipped="${skipped:+$skipped; }${no_fuse:-FUSE is for root here}"
fi
[ -z "$skipped" ] || skip "in part: $skipped"
