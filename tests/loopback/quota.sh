# quota="SIZE" of a key: a file that would exceed it is refused by name, for all transfers of the key together. Other
# keys are unaffected. After a deletion the same command completes.
. "$(dirname "$0")/lib.sh"
for name in server alice bob; do "$send" keygen --identity "$work/$name" 2>/dev/null; done
mkdir -p "$work/dst/alice" "$work/dst/bob" "$work/many" "$work/small"
{
    echo "dir=\"alice\",quota=\"20M\" $(cat "$work/alice.pub") alice"
    echo "dir=\"bob\" $(cat "$work/bob.pub") bob"
} >"$work/allowed"
for name in one two; do head -c 12000000 /dev/urandom >"$work/$name"; done
for i in $(seq 0 59); do head -c 500000 /dev/urandom >"$work/many/f$i"; done
head -c 30000000 /dev/urandom >"$work/big"
start_recv server --dir "$work/dst" --identity "$work/server" --authorized-keys "$work/allowed"
alice=("$send" --json --identity "$work/alice" --pin "$work/server.pub")
bob=("$send" --json --identity "$work/bob" --pin "$work/server.pub")
url=udtx://127.0.0.1:$port
# Directories count from the next scan on; a journal does not count as the sender's file.
within() {
    local held
    held=$(du -s --block-size=1 "$work/dst/alice" | cut -f1)
    [ "$held" -le 20065536 ] || fail "$1: $held bytes on disk"
}

# --- one transfer: the file that does not fit is named before it is sent, the others arrive
echo small >"$work/file"
expect 23 "${alice[@]}" "$work/big" "$work/file" "$url/"
said "no room in the key.s quota .at the receiver: delete something, or raise the quota. for 'big'"
cmp "$work/file" "$work/dst/alice/file" || fail "what has room did not come"
[ ! -e "$work/dst/alice/big" ] || fail "more than the quota came"
[ "$(json_field "$work/last.out" sent_bytes)" -le 16000000 ] || fail "a file was sent in vain"
# --- many files, each of which fits alone, but not all together
expect 11 "${alice[@]}" "$work/many" "$url/"
said "giving up after [0-9]+ failures in a row.*quota"
within "many files"
[ "$(find "$work/dst/alice/many" -name 'f*' | wc -l)" -ge 30 ] || fail "less than the quota came"
# --- a stream, whose size is unknown
expect 11 "${alice[@]}" - "$url/stream" <"$work/big"
said "no room in the key.s quota"
[ ! -e "$work/dst/alice/stream" ] || fail "a stream went beyond the quota"
# --- another key is unaffected
expect 0 "${bob[@]}" "$work/big" "$url/"
cmp "$work/big" "$work/dst/bob/big"
# --- deleted: the same command completes, without a command to the server
rm -r "$work/dst/alice/many"
rm "$work/many"/f[345]*
expect 0 "${alice[@]}" "$work/many" "$url/"
diff -r "$work/many" "$work/dst/alice/many" || fail "the trees differ"
# --- a replacement takes no more room than the file
for _ in 1 2; do
    for i in "$work/many"/*; do head -c 500000 /dev/urandom >"$i"; done
    expect 0 "${alice[@]}" --overwrite always "$work/many" "$url/"
done
diff -r "$work/many" "$work/dst/alice/many" || fail "the trees differ"
find "$work/dst/alice" -mindepth 1 -delete

# --- two transfers at once share one account: 12 MB each do not both fit, whichever is first
"${alice[@]}" --rate 24M "$work/one" "$url/a/" >"$work/one.out" 2>"$work/one.err" &
first=$!
receivers+=("$first")
begun() { [ -n "$(find "$work/dst/alice" -name '*.part' -size +1000k)" ]; }
until_true 60 begun
expect 11 "${alice[@]}" "$work/two" "$url/b/"
said "no room in the key.s quota .* for 'two'"
within "two at once"
wait_for 0 "$first"
cmp "$work/one" "$work/dst/alice/a/one"
rm "$work/dst/alice/a/one"
expect 0 "${alice[@]}" "$work/two" "$url/b/"
cmp "$work/two" "$work/dst/alice/b/two"

# --- invalid values
for value in 0 much -5G 1.5.5G; do
    echo "quota=\"$value\" $(cat "$work/alice.pub")" >"$work/wrong"
    expect 40 "$recv" --listen 127.0.0.1:0 --dir "$work/dst" --identity "$work/server" --authorized-keys "$work/wrong"
    said "wrong, line 1: quota=\"$value\" is not a size above 0: write it as in quota=\"100G\""
done
