# File systems that report lost data late or never. Confirmed files exist after a power cut, and a file that the disk
# refused at close is not confirmed.
. "$(dirname "$0")/lib.sh"
has_fuse || skip "$no_fuse"
make_key

lose_power() { umount "$1" 2>/dev/null || fusermount -u "$1" 2>/dev/null || fusermount3 -u "$1" || fail "cannot unmount $1"; }

# --- small files that are synced together elsewhere, more directories than are synced one by one, and a large file
src=$work/src
for i in $(seq 24); do
    mkdir -p "$src/d$i" "$src/sub/d$i"
    for j in 1 2 3; do echo "$i $j" | tee "$src/d$i/f$j" >"$src/sub/d$i/f$j"; done
done
head -c 9000000 /dev/urandom | tee "$src/large" >"$src/sub/large"
mkdir "$work/all" "$work/below" "$work/above"
# bring NAME DIR DISK KEPT: sends the tree to DIR, then cuts the power of DISK, which is DIR or below it. KEPT has what
# DISK kept.
bring() {
    mount_fuse "$3" careless_fs.py forgets "$4" || skip "$no_fuse"
    start_recv "$1" --dir "$2" --psk-file "$work/psk"
    expect 0 "$send" --psk-file "$work/psk" "$src/" "udtx://127.0.0.1:$port/"
    kill "$receiver"
    wait_for 0 "$receiver"
    lose_power "$3"
}
bring whole "$work/disk" "$work/disk" "$work/all"
diff -r "$src" "$work/all" || fail "what was confirmed is lost where the destination is on FUSE"

# --- only a part of the destination is on such a disk
bring part "$work/above" "$work/above/sub" "$work/below"
diff -r "$src/sub" "$work/below" || fail "what was confirmed is lost below a mount"

# --- no room, and the disk reports that at close
mkdir "$work/some" "$work/few"
for i in $(seq 30); do echo "data $i" >"$work/few/f$i"; done
for i in 3 17 30; do echo "refused $i" >"$work/few/f$i"; done
mount_fuse "$work/full" careless_fs.py refuses "$work/some" || skip "$no_fuse"
start_recv full --dir "$work/full" --psk-file "$work/psk"
expect 23 "$send" --json --psk-file "$work/psk" "$work/few/" "udtx://127.0.0.1:$port/"
[ "$(json_field "$work/last.out" failed_count)" -eq 3 ] || fail "$(json_field "$work/last.out" failed_count) files failed"
rm "$work/few/f3" "$work/few/f17" "$work/few/f30"
diff -r "$work/few" "$work/some" || fail "what was refused at close stands there, or more is missing"

# --- the same for a stream into a file, a receipt and a report
"$recv" --listen 127.0.0.1:0 --one-off --psk-file "$work/psk" - >"$work/full/stream" 2>"$work/stream.log" &
receiver=$!
receivers+=("$receiver")
until_true 60 grep -q listening "$work/stream.log"
port=$(sed -nE 's/.*listening on .*:([0-9]+)\/udp.*/\1/p' "$work/stream.log")
expect 11 bash -c "echo refused | '$send' --psk-file '$work/psk' - 'udtx://127.0.0.1:$port/'"
said "cannot write to '-'"
wait_for 11 "$receiver"
start_recv last --one-off --dir "$work/few" --receipt "$work/full/refused" --psk-file "$work/psk"
expect 0 "$send" --psk-file "$work/psk" "$src/d1" "udtx://127.0.0.1:$port/"
wait_for 11 "$receiver"
grep -q "cannot write the receipt" "$work/last.log" || fail "nobody says that the receipt is not there"
start_recv again --dir "$work/few" --psk-file "$work/psk"
expect 11 "$send" --report "$work/full/refused.html" --psk-file "$work/psk" "$src/d2" "udtx://127.0.0.1:$port/"
said "cannot write .*refused.html"

# --- the disk drops data without an error: no file that is not whole stands, at a push and at a fetch
mkdir "$work/big"
for i in 1 2 3; do head -c $((i * 900000)) /dev/urandom >"$work/big/f$i"; done
head -c 5000000 /dev/urandom >"$work/big/f5"
start_recv server --allow-read --dir "$work/big" --psk-file "$work/psk"
served=udtx://127.0.0.1:$port/
for kind in "drops 3 f1" "pretends 3 f1"; do
    read -r name count whole <<<"$kind"
    mkdir "$work/$name.kept"
    mount_fuse "$work/$name" careless_fs.py "$name" "$work/$name.kept" || skip "$no_fuse"
    check_dropped() {
        grep -qE "'f5' (has [0-9]+ of 5000000 bytes|reads back as other bytes), although the disk accepted all" "$work/last.err" ||
            fail "$name, $1: nobody says what the disk did"
        [ "$(ls "$work/$name.kept")" = "$(printf '%s\n' $whole)" ] || fail "$name, $1: it has $(ls "$work/$name.kept")"
        for file in $whole; do cmp "$work/big/$file" "$work/$name.kept/$file" || fail "$name, $1: $file differs"; done
        rm -f "$work/$name"/*
    }
    for flags in "" --sparse --no-resume; do
        start_recv "$name" --dir "$work/$name" --psk-file "$work/psk"
        # shellcheck disable=SC2086
        expect 23 "$send" $flags --json --psk-file "$work/psk" "$work/big/" "udtx://127.0.0.1:$port/"
        [ "$(json_field "$work/last.out" failed_count)" -eq "$count" ] || fail "$name: $(json_field "$work/last.out" failed_count) failed"
        check_dropped "pushed $flags"
        kill "$receiver"
        wait_for 0 "$receiver"
    done
    expect 23 "$bin/udtx-recv" --psk-file "$work/psk" "$served" "$work/$name"
    check_dropped fetched
    umount "$work/$name"
done
# --- the same for a file that shards fill together: each of them loses the end of its part
mkdir "$work/cut"
head -c 40000000 /dev/urandom >"$work/cut/big"
expect 0 "$send" plan -N 3 "$work/cut/"
cp "$work/last.out" "$work/plan"
for name in drops pretends; do
    for order in "2 1 0" "0 1 2"; do
        mkdir "$work/cut.kept"
        mount_fuse "$work/cut.$name" careless_fs.py "$name" "$work/cut.kept" || skip "$no_fuse"
        start_recv "cut.$name" --dir "$work/cut.$name" --psk-file "$work/psk"
        for k in $order; do
            got=0
            timeout 60 "$send" --shard $k/3 --plan "$work/plan" --psk-file "$work/psk" "$work/cut/" "udtx://127.0.0.1:$port/" \
                >"$work/last.out" 2>"$work/last.err" || got=$?
            [ "$got" -ne 0 ] || fail "$name, $order: shard $k has lost data, and code 0"
        done
        [ ! -e "$work/cut.kept/big" ] || fail "$name, $order: other bytes have the name"
        kill "$receiver"
        wait_for 0 "$receiver"
        umount "$work/cut.$name"
        rm -rf "$work/cut.kept"
    done
done
# --- a stream: its end is missing, or something before it
for name in pretends drops; do
    mount_fuse "$work/stream.$name" careless_fs.py "$name" "$work/$name.kept" || skip "$no_fuse"
    start_recv "stream.$name" --dir "$work/stream.$name" --psk-file "$work/psk"
    for bytes in 2000000 3000000 5000000; do
        expect 11 bash -c "head -c $bytes /dev/urandom | '$send' --psk-file '$work/psk' - 'udtx://127.0.0.1:$port/stream'"
        [ ! -e "$work/stream.$name/stream" ] || fail "a stream of which a part is missing has its name"
    done
    head -c 1000000 /dev/urandom >"$work/short"
    expect 0 "$send" --psk-file "$work/psk" - "udtx://127.0.0.1:$port/stream" <"$work/short"
    cmp "$work/short" "$work/stream.$name/stream" || fail "a stream that was kept differs"
    rm "$work/stream.$name/stream"
done
dropping=$work/stream.drops
"$bin/udtx-recv" --listen 127.0.0.1:0 --one-off --psk-file "$work/psk" - >"$dropping/stream" 2>"$work/dropping.log" &
receiver=$!
receivers+=("$receiver")
until_true 60 grep -q listening "$work/dropping.log"
port=$(sed -nE 's/.*listening on .*:([0-9]+)\/udp.*/\1/p' "$work/dropping.log")
expect 11 bash -c "head -c 3000000 /dev/urandom | '$send' --psk-file '$work/psk' - 'udtx://127.0.0.1:$port/'"
wait_for 11 "$receiver"

# --- the disk accepts modes and owners and sets nothing
mkdir "$work/nods.kept" "$work/modes" "$work/modes/d"
echo x >"$work/modes/f"
chmod 640 "$work/modes/f"
chmod 711 "$work/modes/d"
flags=-p
[ "$(id -u)" -ne 0 ] || { flags=-a && chown 12345 "$work/modes/f"; }
mount_fuse "$work/nods" careless_fs.py nods "$work/nods.kept" || skip "$no_fuse"
start_recv nods --dir "$work/nods" --psk-file "$work/psk"
for _ in 1 2; do
    expect 23 "$send" $flags --psk-file "$work/psk" "$work/modes/" "udtx://127.0.0.1:$port/"
    said "mode of [12] (entries|file|directory) could not be set, first"
    [ $flags = -p ] || said "owner of 1 file could not be set, first 'f'"
done

# --- the same if one sync of the file system covers many files
library=$bin/../tests/faults/libfailing_calls.so
if [ -e "$library" ] && ! sanitized; then
    mkdir "$work/many" "$work/none"
    for i in $(seq 60); do echo "$i" >"$work/many/f$i"; done
    printf '#!/bin/sh\nLD_PRELOAD=%s UDTX_FAULT=close_part:EDQUOT:1+ exec "%s" "$@"\n' "$(realpath "$library")" "$(realpath "$recv")" >"$work/recv"
    chmod +x "$work/recv"
    recv=$work/recv
    start_recv closing --dir "$work/none" --psk-file "$work/psk"
    got=0
    timeout 60 "$send" --psk-file "$work/psk" "$work/many/" "udtx://127.0.0.1:$port/" 2>"$work/last.err" || got=$?
    [ "$got" -ne 0 ] || fail "code 0, and the disk took nothing"
    [ -z "$(find "$work/none" -name 'f*')" ] || fail "what the disk did not take stands there"
fi
