# udtx-recv receipt merge: the receipts of the parts of a tree make the receipt of the whole. An invalid or foreign
# receipt is refused, and nothing is lost.
. "$(dirname "$0")/lib.sh"
make_key
src=$work/src
mkdir -p "$work/dst" "$src/d/e" "$src/empty"
head -c 3000000 /dev/urandom >"$src/d/large"
for i in $(seq 9); do head -c $((i * 700)) /dev/urandom >"$src/d/e/$i"; done
echo x >"$src/d.x"
: >"$src/none"
printf 'odd' >"$src/d"$'\t'"o"
ln -s d/large "$src/link"
start_recv r --dir "$work/dst" --psk-file "$work/psk"
url=udtx://127.0.0.1:$port
move() { expect 0 "$send" --psk-file "$work/psk" --receipt "$work/$1" "${@:2}"; }
merge() { expect "$1" "$recv" receipt merge "${@:2}"; }
cd "$work"

# --- three lists without a common file
(cd "$src" && find . ! -type d -printf '%P\n' && echo empty) | LC_ALL=C sort -r >"$work/names"
for k in 0 1 2; do
    awk "NR % 3 == $k" "$work/names" >"$work/list.$k"
    move "part.$k" --files-from "$work/list.$k" "$src" "$url/parts"
done
move one "$src/" "$url/one"
diff -r --no-dereference "$src" "$work/dst/parts" || fail "the parts are not the tree"
merge 0 out part.2 part.0 part.1
said "3 receipts: 13 files, 3.03 MB"
[ ! -s "$work/last.out" ] || fail "merge writes to standard output: $(cat "$work/last.out")"
merge 0 whole one
said "1 receipt: 13 files, 3.03 MB"
cmp out whole || fail "three transfers and one have different receipts"
for at in dst/parts dst/one src; do expect 0 "$recv" verify out "$at"; done
printf '!' | dd of="$work/dst/parts/d/large" bs=1 seek=2097152 conv=notrunc status=none
expect 41 "$recv" verify out dst/parts
grep -q '^d/large: bytes 2097152 to ' "$work/last.out" || fail "verify does not name the block: $(cat "$work/last.out")"

# --- a refused merge leaves OUT unchanged and no other files
cp out before
refused() {  # CODE WORDS IN...
    local code=$1 words=$2
    shift 2
    merge "$code" out "$@"
    said "$words"
    cmp -s out before || fail "OUT has changed: $*"
}
head -c 200 part.1 >cut
cp part.1 changed
printf '~' | dd of=changed bs=1 seek=100 conv=notrunc status=none
head -c 5000 /dev/urandom >noise
: >nothing
move sha --checksum sha256 --no-resume --files-from list.1 "$src" "$url/sha"
refused 41 "cut: the receipt cannot be trusted" part.0 cut
refused 41 "changed: the receipt cannot be trusted" part.0 changed part.2
refused 41 "noise: the receipt cannot be trusted" part.0 noise
refused 41 "nothing: the receipt cannot be trusted" nothing
refused 41 "is in both part.0 and part.0" part.0 part.1 part.0
refused 41 "is in both part.1 and one" part.1 one
refused 41 "sha has another kind of hash than part.0" part.0 sha
refused 11 "cannot read 'missing'" part.0 missing
refused 11 "cannot read 'dst'" part.0 dst
merge 11 no/dir/out part.0
said "cannot write 'no/dir/out'"
merge 11 dst part.0
said "cannot write 'dst': it is not a regular file"
[ -z "$(find . -name '*.udtx-merge*')" ] || fail "left behind: $(find . -name '*.udtx-merge*')"

# --- OUT never replaces an input, a link or a non-regular file
cp part.0 before
ln -s part.0 to.part
for name in part.0 ./part.0 to.part; do
    merge 1 "$name" part.1 part.0
    said "is one of the receipts"
    cmp part.0 before || fail "an input was overwritten"
done
cp part.2 fresh.udtx-merge
merge 0 fresh fresh.udtx-merge part.1 part.0
cmp fresh out || fail "the receipt is another"
cmp fresh.udtx-merge part.2 || fail "an input was taken for a temporary file"
mkfifo pipe
merge 11 pipe part.0
[ -p pipe ] || fail "a pipe made way for a receipt"
echo old >real
ln -s real to.real
merge 0 to.real part.0 part.1 part.2
[ -L to.real ] && cmp real out || fail "a link made way for a receipt"

# --- receipts of one tree that differ in bytes: each is correct
ln "$src/d/large" "$src/other"
truncate -s 8M "$src/sparse"
printf x | dd of="$src/sparse" bs=1 seek=6000000 conv=notrunc status=none
echo other >list.other
(cd "$src" && find . ! -type d -printf '%P\n' && echo empty) | grep -vx other >list.rest
move many.0 -H --files-from list.other "$src" "$url/many"
move many.1 -H --files-from list.rest "$src" "$url/many"
move linked -H "$src/" "$url/linked"
move again -H "$src/" "$url/linked"
merge 0 many many.0 many.1
merge 0 single linked
merge 0 kept again
grep -q $'^hard\t.*\tother\t\|^hard\t.*\td/large\t' single || fail "the receipt does not have the hard link"
for receipt in many single kept; do
    for at in "$src" dst/many dst/linked; do expect 0 "$recv" verify "$receipt" "$at"; done
done
