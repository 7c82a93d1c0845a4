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

# --- sizes that no message can carry, and sums of sizes that are larger
large=
if truncate -s 5E "$work/huge" 2>/dev/null && truncate -s 3E "$work/large1" && truncate -s 3E "$work/large2"; then
    large=yes
    echo beside >"$work/beside"
    rm -f "$work/dst/"*
    start_recv large --dir "$work/dst" --psk-file "$work/psk"
    expect 23 "$send" --psk-file "$work/psk" "$work/huge" "$work/beside" "udtx://127.0.0.1:$port/"
    said "'huge' has 5764607523034234880 bytes; udtx sends files of at most 4611686018427387903 bytes"
    cmp "$work/beside" "$work/dst/beside"
    for receipt in --receipt=$work/large.receipt --json; do
        expect 0 "$send" "$receipt" --psk-file "$work/psk" "$work/large1" "$work/large2" "$work/beside" \
            "udtx://127.0.0.1:$port/"
    done
    [ "$(stat -c %s "$work/dst/large2")" = 3458764513820540928 ] || fail "a large file has another size"
    rm "$work/dst/"large? "$work/"large?
fi

# --- data that the file system calls a hole is sent all the same, and zeros are not
head -c 3000000 /dev/urandom >"$work/real"
truncate -s 5M "$work/real"
head -c 20000 /dev/urandom >"$work/little"
truncate -s 1M "$work/little"
lie() {  # INJECTION SEND...
    rm -f "$work/dst/"*
    expect 0 strace -D -f -qq -o /dev/null -e trace=lseek -e "inject=lseek:$1" "$send" --json --psk-file "$work/psk" \
        "${@:2}" "udtx://127.0.0.1:$port/"
    for file in "${@:2}"; do cmp "$file" "$work/dst/${file##*/}" || fail "$1: ${file##*/} lost data"; done
    sent=$(json_field "$work/last.out" sent_bytes)
    [ "$sent" -lt 4300000 ] || fail "$1: $sent bytes were sent, so zeros as well"
}
need_strace
start_recv lies --dir "$work/dst" --psk-file "$work/psk"
# Nothing but a hole; data begins late; a hole begins early; no such call.
for lie in error=ENXIO retval=1048576:when=1 retval=4096:when=2 retval=8192:when=2 error=EINVAL retval=0; do
    lie "$lie" "$work/little"
    lie "$lie" "$work/real"
done

# --- a file system that has not counted the blocks of a new file yet
if [ "$(id -u)" -ne 0 ] || ! has_fuse; then skip "in part: ${no_fuse:-FUSE is for root here}"; fi
mkdir "$work/new"
cp --sparse=always "$work/real" "$work/new/real"
mount_fuse "$work/uncounted" times_fuse.py uncounted "$work/new" || fail "$no_fuse"
[ "$(stat -c %b "$work/uncounted/real")" = 0 ] || fail "blocks are counted"
lie error=ENXIO "$work/uncounted/real"
[ -n "$large" ] || skip "in part: no file of 5 EiB can be made here"
