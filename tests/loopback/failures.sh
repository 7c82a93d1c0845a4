# Entries that are not delivered are counted and named at both ends.
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/dst"
echo x >"$work/file"
is() { [ "$(json_field "$1" "$2")" = "$3" ] || fail "$2 is $(json_field "$1" "$2"), not $3"; }

# FIFOs and devices: an error if alone, a failed entry among other sources.
mkfifo "$work/fifo"
start_recv r --dir "$work/dst" --psk-file "$work/psk"
for special in "$work/fifo" /dev/zero; do
    expect 11 "$send" --json --psk-file "$work/psk" "$special" "udtx://127.0.0.1:$port/"
    said "$special: it is a (FIFO|device).*standard input"
    [ "$(wc -l <"$work/last.err")" -eq 1 ] || fail "more than one line"
done
expect 23 "$send" --psk-file "$work/psk" "$work/fifo" "$work/file" "udtx://127.0.0.1:$port/"
said "fifo"
cmp "$work/file" "$work/dst/file" || fail "the file beside the FIFO was not sent"

# Deeper than the protocol allows: the message names the entry that is too deep, and the files below it count.
deep=$work/deep$(printf '/d%.0s' $(seq 128))
mkdir -p "$deep"
echo a >"$deep/a"
echo b >"$deep/b"
echo c >"$work/deep/c"
start_recv depth --one-off --json --dir "$work/dst" --psk-file "$work/psk"
expect 23 "$send" --json --psk-file "$work/psk" "$work/deep" "udtx://127.0.0.1:$port/"
wait_for 23 "$receiver"
said "'b'.*128 levels"
is "$work/last.out" failed_count 3
is "$work/depth.out" failed_count 3
is "$work/depth.out" files 1

# A faulty computer: the other end's hashes are compared, and wrong data gets no final name.
faulty=$(dirname "$checker")/libwrong_hash.so
if [ -e "$faulty" ] && ldd "$recv" | grep libxxhash >/dev/null; then
    mkdir "$work/empty"
    LD_PRELOAD=$faulty start_recv errs --one-off --dir "$work/empty" --psk-file "$work/psk"
    expect 41 "$send" --json --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/"
    said "altered|digests of the two ends differ"
    never_said "same command"
    wait_for 41 "$receiver"
    [ -z "$(ls -A "$work/empty")" ] || fail "something was left of what arrived altered"
else
    echo "no computer that errs: built with a sanitizer, or with xxHash inside"
fi
