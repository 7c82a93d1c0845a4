# udtx-recv udtx://host:port/source... destination: a pull from a receiver that listens, by keys with and without the
# right.
. "$(dirname "$0")/lib.sh"
for name in server reader writer lab; do "$send" keygen --identity "$work/$name" 2>/dev/null; done
make_key
dir=$work/dir
mkdir -p "$dir/lab/tree/sub" "$dir/lab/tree/cache" "$dir/secret" "$work/out"
head -c 300000 /dev/urandom >"$dir/lab/tree/one file"
head -c 3000000 /dev/urandom >"$dir/lab/tree/sub/it's \"two\""
echo keep >"$dir/lab/tree/sub/a.o"
echo cached >"$dir/lab/tree/cache/x"
echo a >"$dir/lab/a.txt"
echo hidden >"$dir/secret/file"
ln -s ../secret "$dir/lab/way-out"
ln -s ../../secret/file "$dir/lab/tree/link"
echo half >"$dir/lab/tree/.x.udtx-0123456789abcdef.part"
chmod 640 "$dir/lab/a.txt"
chmod 750 "$dir/lab/tree/sub"
touch -d '2001-02-03 04:05:06' "$dir/lab/a.txt" "$dir/lab/tree/sub"
{
    echo "read $(cat "$work/reader.pub") the mirror"
    echo "write $(cat "$work/writer.pub")"
    echo "dir=\"lab\",rate=\"80M\" $(cat "$work/lab.pub")"
} >"$work/allowed"
start_recv server --log "$work/log" -v --dir "$dir" --identity "$work/server" --authorized-keys "$work/allowed"
url=udtx://127.0.0.1:$port
as() { who=(--identity "$work/$1" --pin "$work/server.pub"); }
get() { expect 0 "$recv" "${who[@]}" "$@"; }
same() { diff -r --no-dereference -x '.*.part' "$1" "$2" || fail "$3"; }

# --- destinations as with scp
cd "$work/out"
as reader
get -p "$url/lab/a.txt" .
cmp "$dir/lab/a.txt" a.txt || fail "one file"
[ "$(stat -c '%a %Y' a.txt)" = "640 $(stat -c %Y "$dir/lab/a.txt")" ] || fail "-p: $(stat -c '%a %Y' a.txt)"
get --json "$url/lab/tree" renamed
same "$dir/lab/tree" renamed "a tree under a new name"
[ ! -e renamed/.x.udtx-0123456789abcdef.part ] || fail "what is not finished was fetched"
[ "$(json_field "$work/last.out" files)" -eq 4 ] || fail "files are miscounted"
get "$url/lab/tree/sub/" "$url/secret/file" new/deep/
cmp "$dir/secret/file" new/deep/file || fail "several sources"
cmp "$dir/lab/tree/sub/it's \"two\"" "new/deep/it's \"two\"" || fail "the contents of a directory"
get "$url/lab/tree/one%20file" -
cmp "$dir/lab/tree/one file" "$work/last.out" || fail "standard output"
get --receipt "$work/receipt" "$url/lab/tree" renamed/
expect 0 "$recv" verify "$work/receipt" renamed
until_true 90 grep -q "to 127.0.0.1:.*file" "$work/log"

# --- sources that are missing, forbidden, or elsewhere
expect 11 "$recv" "${who[@]}" "$url/missing" .
said "missing: No such file or directory"
until_true 90 grep -q "to 127.0.0.1:[0-9]* (the mirror): .*missing" "$work/log"
expect 23 "$recv" "${who[@]}" "$url/lab/a.txt" "$url/missing" new
said "missing: sender: No such file or directory"
expect 11 "$recv" "${who[@]}" "$url/lab/a.txt" no/such/name
said "no/such: No such file or directory"
expect 11 "$recv" "${who[@]}" "$url/lab/way-out/file" .
said "link.* is not followed"
expect 11 "$recv" "${who[@]}" "$url/lab/tree/.x.udtx-0123456789abcdef.part" .
as lab
for path in ../secret/file tree/../../secret/file .. lab/../..; do
    expect 11 "$recv" "${who[@]}" "$url/$path" escaped
    said "outside of the directory|No such file"
done
until_true 90 grep -q "refused 127.0.0.1:.*outside of the directory" "$work/log"
expect 11 "$recv" "${who[@]}" "$url/way-out/file" escaped
expect 11 "$recv" "${who[@]}" "$url//secret/file" escaped
[ ! -e escaped ] || fail "something came from outside of the directory"
get "$url/" everything/
[ "$(readlink everything/way-out)" = ../secret ] || fail "a link is not the link that it was"
as writer
expect 11 "$recv" "${who[@]}" "$url/lab/a.txt" forbidden
said "this key may not read here: it lacks the right 'read'"
until_true 90 grep -qF "($(cut -d ' ' -f 1,2 "$work/writer.pub")): this key may not read" "$work/log"
as reader
expect 11 "$send" "${who[@]}" "$dir/lab/a.txt" "$url/"
said "this key may not write here: it lacks the right 'write'"
until_true 90 grep -q "refused 127.0.0.1:.*the right 'write'" "$work/log"

# --- the selection of a tree, made where the tree is read, together with the options above
as lab
get -a --exclude cache/ --exclude '*.o' "$url/tree/" chosen
[ "$(cd chosen && find . -mindepth 1 -printf '%P\n' | LC_ALL=C sort | tr '\n' ' ')" = "link one file sub sub/it's \"two\" " ] ||
    fail "--exclude: $(cd chosen && find .)"
[ "$(stat -c '%a %Y' chosen/sub)" = "$(stat -c '%a %Y' "$dir/lab/tree/sub")" ] || fail "-a"
printf 'sub/a.o\n' | expect 0 "$recv" "${who[@]}" --files-from - "$url/tree" listed
[ "$(find listed -type f)" = listed/sub/a.o ] || fail "--files-from"
touch chosen/extra chosen/spare.o
get -n --delete --exclude '*.o' --exclude cache/ "$url/tree/" chosen
grep -q '^[*]deleting   extra$' "$work/last.out" || fail "-n does not say what would go"
! grep -q 'one file' "$work/last.out" || fail "-n lists what is the same"
[ -e chosen/extra ] || fail "-n deleted"
get -n "$url/tree/" not-made
grep -q '^>f+++++++++ cache/x$' "$work/last.out" || fail "-n does not say what would come"
[ ! -e not-made ] || fail "-n made something"
get --delete --exclude '*.o' "$url/tree/" chosen
[ ! -e chosen/extra ] && [ -e chosen/spare.o ] && [ -e chosen/cache/x ] || fail "--delete"
printf 'b' | dd of="chosen/one file" conv=notrunc status=none
touch -r "$dir/lab/tree/one file" "chosen/one file"
get "$url/tree/" chosen
! cmp -s "$dir/lab/tree/one file" "chosen/one file" || fail "the same time and size, and yet compared"
get -c "$url/tree/" chosen
cmp "$dir/lab/tree/one file" "chosen/one file" || fail "-c"
get --overwrite never --no-links "$url/tree" chosen/
[ ! -e chosen/tree/link ] && [ ! -L chosen/tree/link ] || fail "--no-links"

# --- killed; the same command continues at the key's rate; TERM lets it complete
head -c 24000000 /dev/urandom >"$dir/lab/large"
# The journal has the first pieces: a head of a few bytes, and about forty bytes for each of eight pieces.
begun() { [ -n "$(find part -name '*.journal' -size +250c 2>/dev/null)" ]; }
"$recv" "${who[@]}" --rate 24M "$url/large" part/ 2>"$work/killed.err" &
puller=$!
receivers+=("$puller")
until_true 120 begun
kill -KILL "$puller"
wait_for 137 "$puller"
[ ! -e part/large ] || fail "it was over before the kill"
served=$(grep -c "serving 127" "$work/log")
more() { [ "$(grep -c "serving 127" "$work/log")" -gt "$served" ]; }
"$recv" "${who[@]}" --json "$url/large" part/ >"$work/again.out" 2>"$work/again.err" &
puller=$!
receivers+=("$puller")
until_true 120 more
kill -TERM "$receiver"
wait_for 0 "$puller"
cmp "$dir/lab/large" part/large || fail "not the same"
[ "$(json_field "$work/again.out" resumed_bytes)" -gt 0 ] || fail "it was begun anew"
# 8 bits per sent byte at 80 Mbit/s, with a margin for the data that a start may have ahead
awk -v s="$(json_field "$work/again.out" seconds)" -v n="$(json_field "$work/again.out" sent_bytes)" \
    'BEGIN { exit !(s > n * 8 / 80e6 * 0.8) }' || fail "faster than the key's rate"

# --- with a pre-shared key only if the server allows it
start_recv drop-box --dir "$dir" --psk-file "$work/psk"
expect 11 "$recv" --psk-file "$work/psk" "udtx://127.0.0.1:$port/lab/a.txt" "$work/by-psk"
said "--allow-read"
[ ! -e "$work/by-psk" ] || fail "a drop box gave a file away"
until_true 20 grep -q "refused 127.0.0.1.*--allow-read" "$work/drop-box.log"
start_recv open --allow-read --dir "$dir" --psk-file "$work/psk"
expect 0 "$recv" --psk-file "$work/psk" "udtx://127.0.0.1:$port/lab/a.txt" "$work/by-psk"
cmp "$dir/lab/a.txt" "$work/by-psk" || fail "not the same"
expect 1 "$recv" --listen 127.0.0.1:0 --allow-read --dir "$dir" --identity "$work/server" --authorized-keys "$work/allowed"
said "--allow-read needs --psk-file"

# --- a source alone is listed, whatever the current directory has
before=$(ls -A)
for source in lab ""; do
    expect 0 "$recv" --psk-file "$work/psk" "udtx://127.0.0.1:$port/$source"
    said "dry run, nothing was done: [1-9][0-9]* file"
    grep -qE '^>f\+\+\+\+\+\+\+\+\+ (.*/)?a.txt$' "$work/last.out" || fail "'$source' is not listed: $(cat "$work/last.out")"
done
expect 11 "$recv" --psk-file "$work/psk" "udtx://127.0.0.1:$port/nothing"
[ "$(ls -A)" = "$before" ] || fail "a list has left something: $(ls -A)"

# --- wrong use
wrong() { expect 1 "$recv" --psk-file "$work/psk" "${@:2}"; said "$1"; }
wrong "one run fetches from one server" udtx://h/a udtx://g/b .
wrong "is on another host" udtx://h/a udtx://h/b
wrong "neither .*HOST" udtx://h/a far:b .
wrong "--max-rate is for serving" --max-rate 5M udtx://h/a .
wrong "--schedule is for senders" --schedule 08:00,5M udtx://h/a .
wrong "--cc is for senders" --cc udtx udtx://h/a .
wrong "--ssh is for" --ssh x udtx://h/a .
wrong "--pin need each other" --pin x udtx://h/a .
wrong "--exclude is for fetching" --exclude x --listen 127.0.0.1:0 --dir .
wrong "--delete is for fetching" --delete --listen 127.0.0.1:0 --dir .
wrong "not for standard input or output" -n udtx://h/a -
wrong "--files-from takes one SRC" --files-from "$work/allowed" udtx://h/a udtx://h/b .
