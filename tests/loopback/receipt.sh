# Receipts: both ends write the same receipt; udtx-recv verify finds every kind of difference and names the block.
. "$(dirname "$0")/lib.sh"
make_key
mkdir -p "$work/src/d" "$work/dst"
head -c 5000000 /dev/urandom >"$work/src/big"
head -c 3000 /dev/urandom >"$work/src/d/a b"
: >"$work/src/empty"
ln -s big "$work/src/link"
truncate -s 8M "$work/src/sparse" && printf x | dd of="$work/src/sparse" bs=1 seek=6000000 conv=notrunc status=none
printf 'y' >"$work/src/"$'odd\tna\\me\nz'

transfer() {  # NAME SEND-ARGS...
    local name=$1
    shift
    start_recv "$name" --psk-file "$work/psk" --dir "$work/dst" --one-off --receipt "$work/$name.recv"
    expect 0 "$send" --psk-file "$work/psk" --receipt "$work/$name.send" "$@" "$work/src/" "udtx://127.0.0.1:$port/in/to"
    wait_for 0 "$receiver"
}
verify() { expect "$1" "$recv" verify "$work/one.recv" "$work/dst/in/to"; }
differs() { grep -qE -- "$1" "$work/last.out" || fail "verify does not say '$1': $(cat "$work/last.out")"; }

# A receipt replaces a regular file, also behind a link, but no other kind.
mkfifo "$work/pipe"
expect 11 "$send" --psk-file "$work/psk" --receipt "$work/pipe" "$work/src/" udtx://127.0.0.1:9/in
said "not a regular file"
[ -p "$work/pipe" ] || fail "a pipe made way for a receipt"
: >"$work/one.send.real"
ln -s one.send.real "$work/one.send"
transfer one
[ -L "$work/one.send" ] || fail "a link made way for a receipt"
cmp "$work/one.send" "$work/one.recv" || fail "the receipts of the two ends differ"
verify 0
said "5 files.*all as the receipt says"
said "not checked: modes"
# A hard link of a file is in the receipt, and a copy instead of it also passes.
ln "$work/src/big" "$work/src/twin"
transfer linked -H --no-resume
cmp "$work/linked.send" "$work/linked.recv" || fail "the receipts of the two ends differ with hard links"
grep -qE $'^hard\t[0-9]+\t(twin|big)\t(big|twin)$' "$work/linked.recv" || fail "the receipt does not have the hard link"
expect 0 "$recv" verify "$work/linked.recv" "$work/dst/in/to"
cp -r "$work/src" "$work/copied"
expect 0 "$recv" verify "$work/linked.recv" "$work/copied"
rm "$work/copied/twin"
expect 41 "$recv" verify "$work/linked.recv" "$work/copied"
differs '^twin: missing'
printf 'other' >"$work/copied/twin"
expect 41 "$recv" verify "$work/linked.recv" "$work/copied"
differs '^twin: has 5 bytes'
# In a second run existing files are not sent, and the receipt is still complete.
transfer sha --checksum sha256
cmp "$work/sha.send" "$work/sha.recv" || fail "the receipts of the two ends differ with SHA-256"
grep -q "sha256" "$work/sha.recv" || fail "the receipt does not name its hash"
expect 0 "$recv" verify "$work/sha.recv" "$work/src"

to=$work/dst/in/to
printf '\377\376\375' | dd of="$to/big" bs=1 seek=2097152 conv=notrunc status=none
verify 41
differs '^big: bytes 2097152 to 3145727 differ'
[ "$(wc -l <"$work/last.out")" -eq 1 ] || fail "more than one block differs"
cp "$work/src/big" "$to/big"
printf z | dd of="$to/sparse" bs=1 seek=100 conv=notrunc status=none
truncate -s 2999 "$to/d/a b"
ln -sf elsewhere "$to/link"
rm "$to/empty"
verify 41
differs '^sparse: bytes .* differ'
differs '^d/a b: has 2999 bytes, not 3000'
differs '^link: has another target'
differs '^empty: missing'
expect 41 "$recv" verify --json "$work/one.recv" "$to"
[ "$(json_field "$work/last.out" different)" -eq 4 ] || fail "--json"
rm -r "$to/d" && mkfifo "$to/d"
verify 41
differs '^d: is not a directory'

# A changed or truncated receipt does not count as evidence.
sed 's/^file\t\([0-9]*\)\tempty/file\t\1\tother/' "$work/one.recv" >"$work/forged"
expect 41 "$recv" verify "$work/forged" "$to"
said "changed after it was written"
head -n -1 "$work/one.recv" >"$work/cut"
expect 41 "$recv" verify "$work/cut" "$to"
said "its end is missing"
expect 11 "$recv" verify "$work/nowhere" "$to"
expect 11 "$recv" verify "$work/one.recv" "$work/nowhere"
expect 1 "$recv" verify "$work/one.recv"
said "RECEIPT DIR"

# A transfer that does not complete leaves no receipt.
! "$send" --psk-file "$work/psk" --timeout 1 --receipt "$work/none" "$work/src" udtx://127.0.0.1:9/ 2>"$work/last.err" ||
    fail "nobody listens there"
[ -z "$(ls "$work" | grep '^none')" ] || fail "a receipt of nothing"
expect 11 "$send" --psk-file "$work/psk" --receipt "$work/no/dir" "$work/src" udtx://127.0.0.1:9/
said "--receipt: cannot write"
expect 1 "$send" --psk-file "$work/psk" --receipt "$work/x" - udtx://127.0.0.1:9/x
said "--receipt is for files"
expect 1 "$recv" --psk-file "$work/psk" --listen 127.0.0.1:0 --dir "$work/dst" --receipt "$work/x"
said "--one-off"

# Damaged bits leave size and time unchanged: only the blocks that differ are sent to repair them.
rot=$work/rot
mkdir -p "$rot/src/sub" "$rot/dst"
head -c 8000000 /dev/urandom >"$rot/src/sub/"$'big\nname'
head -c 3000000 /dev/urandom >"$rot/src/other"
head -c 50000 /dev/urandom >"$rot/src/gone"
start_recv rot --psk-file "$work/psk" --dir "$rot/dst"
to=udtx://127.0.0.1:$port/copy
expect 0 "$send" --psk-file "$work/psk" --receipt "$rot/receipt" "$rot/src/" "$to"
file=$rot/dst/copy/sub/$'big\nname'
touch -r "$file" "$rot/time"
printf 'rotten' | dd of="$file" bs=1 seek=3500000 conv=notrunc status=none
touch -r "$rot/time" "$file"
rm "$rot/dst/copy/gone"
expect 0 "$send" --json --psk-file "$work/psk" --exclude gone "$rot/src/" "$to"  # the user's first attempt
[ "$(json_field "$work/last.out" sent_bytes)" -eq 0 ] || fail "the rot can be seen by size or time"
expect 41 "$recv" verify --repair-list "$rot/list" "$rot/receipt" "$rot/dst/copy"
differs 'big.*name: bytes 3145728 to 4194303 differ'
said "to repair it.*udtx-send -c -0 --files-from"
expect 0 "$send" --json -c -0 --files-from "$rot/list" --psk-file "$work/psk" "$rot/src" "$to"
sent=$(json_field "$work/last.out" sent_bytes)
[ "$sent" -ge 1098576 ] && [ "$sent" -le 2200000 ] || fail "$sent bytes were sent to mend one block and a file of 50,000"
expect 0 "$recv" verify --repair-list "$rot/list" "$rot/receipt" "$rot/dst/copy"
[ ! -s "$rot/list" ] || fail "a list of nothing has names"
diff -r "$rot/src" "$rot/dst/copy" || fail "the trees differ"
expect 11 "$recv" verify --repair-list "$rot/no/dir" "$rot/receipt" "$rot/dst/copy"
said "--repair-list"

# No output file is written through a link of another user, who could make root overwrite any file.
if [ "$(id -u)" -eq 0 ]; then
    mkdir -m 755 "$work/evil" "$work/evil/real"
    echo precious >"$work/precious"
    chown 54321 "$work/evil" "$work/evil/real"
    ln -s "$work/precious" "$work/evil/x"
    ln -s "$work" "$work/evil/dir"
    mkfifo "$work/evil/pipe"
    chown -h 54321 "$work/evil/x" "$work/evil/dir" "$work/evil/pipe"
    ln "$work/precious" "$work/evil/hard"
    start_recv linked-out --psk-file "$work/psk" --dir "$work/dst"
    refuses() {  # refuses WHAT COMMAND...
        expect 11 "${@:2}"
        said "$work/evil/(x|dir|pipe|hard) is a (link|pipe|file)( of several names|.*another user \(number 54321\))"
        [ "$(cat "$work/precious")" = precious ] || fail "$1 went through a link of another user"
    }
    push=("$send" --psk-file "$work/psk" "$work/src/big" "udtx://127.0.0.1:$port/out")
    for at in x dir/precious; do
        refuses --receipt "${push[@]}" --receipt "$work/evil/$at"
        refuses --log "${push[@]}" --log "$work/evil/$at"
        refuses verify "$recv" verify --repair-list "$work/evil/$at" "$work/one.recv" "$work/dst/in/to"
        refuses merge "$recv" receipt merge "$work/evil/$at" "$work/one.recv"
    done
    "${push[@]}" --report "$work/evil/x" >"$work/last.out" 2>"$work/last.err" || true
    [ "$(cat "$work/precious")" = precious ] || fail "--report went through a link of another user"
    refuses --log "${push[@]}" --log "$work/evil/hard"
    refuses --log "${push[@]}" --log "$work/evil/pipe"
    # Own links, those of root and names of open files still work.
    ln -s evil/real "$work/own"
    expect 0 "${push[@]}" --receipt "$work/own/r" --log /dev/stdout
    [ -s "$work/evil/real/r" ] && grep -q "1 file" "$work/last.out" || fail "an own link or /dev/stdout does not work"
fi
