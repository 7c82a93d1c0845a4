# A full disk at the receiver: the run ends with code 11 and a line about it, and no file has its final name.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" -eq 0 ] || skip "needs root to mount a small tmpfs"
mkdir "$work/small"
mount -t tmpfs -o size=4m tmpfs "$work/small" 2>/dev/null || skip "cannot mount a tmpfs here"
make_key
head -c 12000000 /dev/urandom >"$work/big"
start_recv r --dir "$work/small" --psk-file "$work/psk"
expect 11 "$send" --json --psk-file "$work/psk" "$work/big" "udtx://127.0.0.1:$port/"
said "[Nn]o space|full"
[ -z "$(find "$work/small" -type f)" ] || fail "something was left on the full disk"
echo small >"$work/file"
expect 0 "$send" --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/"
cmp "$work/file" "$work/small/file" || fail "the disk has room again"

# Many files that do not fit: the run ends early, and unwritten files are not counted.
rm "$work/small/file"
mkdir "$work/many"
for i in $(seq 24); do head -c 5000000 /dev/zero | tr '\0' "\\$((i + 100))" >"$work/many/f$i"; done
expect 11 "$send" --json --mtu 1500 --rate 200M --psk-file "$work/psk" "$work/many" "udtx://127.0.0.1:$port/"
said "giving up after 4 failures in a row.*[Nn]o space"
[ "$(json_field "$work/last.out" sent_bytes)" -le 4194304 ] || fail "bytes are counted that were not written"
packets=$(json_field "$work/last.out" sent_packets)
[ "$packets" -lt 50000 ] || fail "$packets packets: 24 files were sent to a disk that takes none of them"
rm -r "$work/many"
find "$work/small" -mindepth 1 -delete

# After the disk got more room, the same command sends only what was not delivered, and leaves no temporary files.
mount -o remount,size=36m "$work/small"
head -c 16000000 /dev/zero >"$work/small/filler"
mkdir "$work/src"
for i in 1 2 3; do head -c 5000000 /dev/urandom >"$work/src/f$i"; done
head -c 7000000 /dev/urandom >"$work/src/mid"
some=("$work/src/f1" "$work/src/f2" "$work/src/f3" "$work/src/mid" "udtx://127.0.0.1:$port/")
expect 23 "$send" --json --psk-file "$work/psk" "${some[@]}"
said "[Nn]o space"
rm "$work/small/filler"
expect 0 "$send" --json --psk-file "$work/psk" "${some[@]}"
# 4 MiB and the rest of their last piece may be sent before the receiver reports what it has: the first file at most.
[ "$(json_field "$work/last.out" resumed_bytes)" -eq 15000000 ] || fail "what was delivered was sent again"
diff -r "$work/src" "$work/small" || fail "the trees differ"

# --min-free: a file that would leave less room is refused by name, and the rest arrives.
find "$work/small" -mindepth 1 -delete
start_recv spare --min-free 20M --dir "$work/small" --psk-file "$work/psk"
expect 0 "$send" --psk-file "$work/psk" "$work/big" "udtx://127.0.0.1:$port/one"
expect 23 "$send" --psk-file "$work/psk" "$work/big" "$work/file" "udtx://127.0.0.1:$port/"
said "--min-free leaves no room for 'big'"
cmp "$work/file" "$work/small/file" || fail "what has room did not come"
# The same for a stream and a file with holes, whose final size is unknown beforehand.
rm "$work/small/file"
expect 11 "$send" --psk-file "$work/psk" - "udtx://127.0.0.1:$port/stream" <"$work/big"
said "--min-free leaves no room for 'stream'"
expect 23 "$send" --sparse --psk-file "$work/psk" "$work/big" "$work/file" "udtx://127.0.0.1:$port/"
said "--min-free leaves no room for 'big'"
cmp "$work/file" "$work/small/file" || fail "what has room did not come"
expect 1 "$recv" --min-free lots --listen :0 --dir "$work/small" --psk-file "$work/psk"

# Announced data takes no disk space: at most twice the received bytes, plus 16 MiB.
truncate -s 400M "$work/disk.img"
mkdir "$work/disk"
if PATH=$PATH:/usr/sbin:/sbin mkfs.ext4 -q -F "$work/disk.img" 2>/dev/null && mount -o loop "$work/disk.img" "$work/disk" 2>/dev/null; then
    mounted+=("$work/disk")
    head -c 200000000 /dev/zero | tr '\0' x >"$work/announced"
    start_recv r2 --dir "$work/disk" --psk-file "$work/psk"
    takes_int "$send" --rate 40M --psk-file "$work/psk" "$work/announced" "udtx://127.0.0.1:$port/" >"$work/last.out" 2>&1 &
    sender=$!
    receivers+=("$sender")
    begun() { [ -n "$(find "$work/disk" -name '*.part' -size +100k)" ]; }
    until_true 60 begun
    sleep 1
    held=$(du -s --block-size=1 "$work/disk" | cut -f1)
    came=$(find "$work/disk" -name '*.part' -printf '%s\n')
    [ "$held" -le $((2 * came + 20000000)) ] || fail "$held bytes are held for $came that came"
    kill -INT "$sender"
    wait_for 130 "$sender"
    expect 0 "$send" --psk-file "$work/psk" "$work/announced" "udtx://127.0.0.1:$port/"
    cmp "$work/announced" "$work/disk/announced" || fail "not the same"
fi
