# udtx-recv [user@]host:source... destination: ssh starts the sender, and the receiver connects.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/ssh_lib.sh"
start_sshd
home=$work/far-home
mkdir -p "$home/tree/sub" "$work/out"
far_program send "cd '$home' && export HOME='$home' && echo \$\$ >'$work/far.pid' && exec '$send' \"\$@\""
from=("${ssh[@]}" --remote-bin "$work/send")
gone() { ! kill -0 "$(cat "$work/far.pid")" 2>/dev/null; }

head -c 300000 /dev/urandom >"$home/tree/one file"
head -c 3000000 /dev/urandom >"$home/tree/sub/it's \"two\""
echo a >"$home/a.txt"
echo b >"$home/b.txt"
chmod 640 "$home/a.txt"
touch -d '2001-02-03 04:05:06' "$home/a.txt"

# --- destinations as with scp
cd "$work/out"
expect 0 "$recv" "${from[@]}" -p far:a.txt .
cmp "$home/a.txt" a.txt || fail "one file"
[ "$(stat -c '%a %Y' a.txt)" = "$(stat -c '%a %Y' "$home/a.txt")" ] || fail "-p did not reach the sender"
expect 0 "$recv" "${from[@]}" far:a.txt renamed
cmp "$home/a.txt" renamed || fail "a new name"
expect 0 "$recv" "${from[@]}" 'far:~/tree' "it's a \"tree\""
diff -r "$home/tree" "it's a \"tree\"" || fail "a tree under a new name"
expect 0 "$recv" "${from[@]}" far:tree far:b.txt new/deep/
diff -r "$home/tree" new/deep/tree || fail "several sources"
cmp "$home/b.txt" new/deep/b.txt || fail "several sources"
expect 0 "$recv" "${from[@]}" "far:tree/one file" "far:$home/tree/sub/" spaces/
cmp "$home/tree/one file" "spaces/one file" || fail "spaces"
cmp "$home/tree/sub/it's \"two\"" "spaces/it's \"two\"" || fail "the contents of a directory"
for dest in dry/deep/ dry-contents; do
    expect 0 "$recv" "${from[@]}" -n far:tree/ "$dest"
    grep -q '^>f+++++++++ one file$' "$work/last.out" || fail "-n does not say what would come to $dest"
done
[ ! -e dry ] && [ ! -e dry-contents ] || fail "-n made a directory"
mkdir patterns
expect 0 "$recv" "${from[@]}" 'far:*.txt' patterns
[ "$(ls patterns)" = "$(printf 'a.txt\nb.txt')" ] || fail "a pattern"
expect 0 "$recv" "${from[@]}" "far:tree/sub/it's \"two\"" -
cmp "$home/tree/sub/it's \"two\"" "$work/last.out" || fail "standard output"
until_true 120 gone

# --- the selection of a tree: done where it is read; no shell sees patterns and names
mkdir -p "$home/tree/cache" "$work/out/chosen/tree"
echo x >"$home/tree/cache/x"
echo o >"$home/tree/\$(touch evil).o"
ln "$home/tree/cache/x" "$home/tree/twin"
touch chosen/tree/extra chosen/tree/spare.o
expect 0 "$recv" "${from[@]}" -n -a --delete --exclude '$(touch *' --exclude cache/ far:tree chosen
grep -q '^[*]deleting   tree/extra$' "$work/last.out" || fail "-n does not say what would go"
grep -q '^>f+++++++++ tree/one file$' "$work/last.out" || fail "-n does not say what would come"
[ -e chosen/tree/extra ] && [ ! -e "chosen/tree/one file" ] || fail "-n did something"
expect 0 "$recv" "${from[@]}" -a --delete --exclude '*.o' --exclude '$(touch *' --exclude cache/ far:tree chosen
[ "$(cd chosen/tree && find . -mindepth 1 -printf '%P\n' | LC_ALL=C sort | tr '\n' ' ')" = "one file spare.o sub sub/it's \"two\" twin " ] ||
    fail "--exclude and --delete: $(find chosen)"
[ "$(stat -c '%a %Y' chosen/tree/sub)" = "$(stat -c '%a %Y' "$home/tree/sub")" ] || fail "-a"
printf 'cache/x\n$(touch evil).o\n' | expect 0 "$recv" "${from[@]}" --files-from - far:tree listed
[ "$(cd listed && find . -type f | LC_ALL=C sort | tr '\n' ' ')" = './$(touch evil).o ./cache/x ' ] || fail "--files-from: $(find listed)"
[ -z "$(find "$home" "$work/out" -name evil)" ] || fail "a shell saw a name"
expect 0 "$recv" "${from[@]}" -H far:tree/ twins
[ "$(stat -c %h twins/twin)" -eq 2 ] || fail "-H"
rm -r "$home/tree/cache" "$home/tree/twin" "$home/tree/\$(touch evil).o"
until_true 120 gone

# --- errors of the far end are reported here
expect 11 "$recv" "${from[@]}" far:missing .
said "^udtx-recv: far: missing: No such file or directory$"
[ "$(wc -l <"$work/last.err")" -eq 1 ] || fail "more than one line"
expect 23 "$recv" "${from[@]}" far:a.txt far:missing patterns
said "missing: sender: No such file or directory"
expect 11 "$recv" "${from[@]}" far:a.txt no/such/name
said "no/such: No such file or directory"
until_true 120 gone
expect 12 "$recv" "${ssh[@]}" --remote-bin "$work/none" far:a.txt .
said "none: not found on far; install it or name it with --remote-bin"

# --- a sender that answers another request writes nothing: the test changes its request in transit
echo mine >"$home/.bashrc"
ln -s /etc/passwd "$home/pw"
mkdir lies
far_program tap "cd '$home' && export HOME='$home' && sed -u -e \"\$(cat '$work/lie')\" | tee '$work/request' | '$send' \"\$@\""
lie() {  # lie SED_SCRIPT CODE ARGS...
    echo "$1" >"$work/lie"
    expect "$2" "$recv" "${ssh[@]}" --remote-bin "$work/tap" "${@:3}"
}
lie '' 0 far:pw lies/pw
kept=$(sed -n 's/^selection //p' "$work/request")
rm lies/pw
lie 's/^source .*/source .bashrc/' 12 far:a.txt lies/
said "'.bashrc', which was not requested"
lie 's/^source .*/source tree\//' 12 far:a.txt lies/
said "the contents of a directory in place of the directory"
lie 's/^source .*/source .bashrc/' 12 'far:*' lies/
said "'.bashrc', which was not requested"
lie "s|^selection .*|selection $kept|" 12 --no-links far:pw lies/
said "'pw', which was not requested: links are excluded"
[ -z "$(ls -A lies)" ] || fail "something came that was not asked for: $(ls -A lies)"
lie '' 0 'far:a.*' 'far:~/b.txt' lies/
rm "$home/.bashrc" "$home/pw"

# --- Ctrl-C here ends both ends, and the same command continues, also under the new name of a tree
head -c 40000000 /dev/urandom >"$home/tree/large"
begun() { [ -n "$(find big -name '*.part' -size +8000k 2>/dev/null)" ] || [ -e big/large ]; }
takes_int "$recv" "${from[@]}" --rate 24M far:tree big 2>"$work/last.err" &
receiver=$!
receivers+=("$receiver")
until_true 120 begun
kill -INT "$receiver"
wait_for 130 "$receiver"
said "interrupted by SIGINT.*the same command continues from here"
until_true 120 gone
[ ! -e big/large ] || fail "it was over before the interruption"
expect 0 "$recv" "${from[@]}" --json far:tree big
diff -r "$home/tree" big || fail "not the same"
[ "$(json_field "$work/last.out" resumed_bytes)" -gt 0 ] || fail "it was begun anew"

# --- a source alone is listed
expect 0 "$recv" "${from[@]}" far:tree
said "dry run, nothing was done"
grep -q '^>f+++++++++ tree/' "$work/last.out" || fail "not listed: $(cat "$work/last.out")"

# --- wrong use
wrong() { expect 1 "$recv" "${@:2}"; said "$1"; }
wrong "one run fetches from one host" far:a near:b .
wrong "is on another host" far:a near:b
wrong "--listen is for serving" --listen :0 far:a .
wrong "--path is for udtx://" --path lo far:a .
wrong "not for standard input or output" --delete far:a -
wrong "--udp-port is for" -O 7000 --listen :0 --dir .
