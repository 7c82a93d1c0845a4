# F61: a sparse file of 1 TB with scattered data: only the data is sent, and the receiver recreates the holes.
. "$(dirname "$0")/lib.sh"
size=$((1 << 40))
pieces=64  # 1 MB each; 1 GB in the whole matrix
[ -z "$whole" ] || pieces=1000
make_key
mkdir "$work/dst"
truncate -s $size "$work/sparse" 2>/dev/null || skip "no file of 1 TB can be made here"
head -c 1000000 /dev/urandom >"$work/piece"
for i in $(seq 0 $((pieces - 1))); do
    dd if="$work/piece" of="$work/sparse" bs=1000000 seek=$((i * (size / 1000000 / pieces))) conv=notrunc status=none
done
[ "$(du -k "$work/sparse" | cut -f1)" -lt 2000000 ] || skip "no sparse files here"
start_recv r --one-off --dir "$work/dst" --psk-file "$work/psk"
expect 0 "$send" --json --psk-file "$work/psk" "$work/sparse" "udtx://127.0.0.1:$port/"
wait_for 0 "$receiver"
sent=$(json_field "$work/last.out" sent_bytes)
data=$((pieces * 1000000))
[ "$(stat -c %s "$work/dst/sparse")" -eq $size ] || fail "the size is $(stat -c %s "$work/dst/sparse")"
[ "$sent" -le $((data * 105 / 100)) ] || fail "$sent bytes were sent of $data"
[ "$(du -k "$work/dst/sparse" | cut -f1)" -le $((data / 1024 * 105 / 100)) ] || fail "the holes are not holes"
for i in $(seq 0 $((pieces - 1))); do
    dd if="$work/dst/sparse" bs=1000000 skip=$((i * (size / 1000000 / pieces))) count=1 status=none | cmp - "$work/piece" ||
        fail "piece $i differs"
done
fault_case F61 "1 TB with 64 MB of data (1 GB in the whole matrix): at most 1.05 times the data on the wire" "$sent bytes for $data"
