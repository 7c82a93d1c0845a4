# --threads: transfers whose packets pass through several threads arrive complete, and end in order when they are cut
# off.
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/dst"
head -c 10000000 /dev/urandom >"$work/data"
shared=(--psk-file "$work/psk" --mtu 1500)

start_recv server "${shared[@]}" --threads 3 --dir "$work/dst"
url=udtx://127.0.0.1:$port
for threads in 2 4; do
    expect 0 "$send" --json "${shared[@]}" --threads $threads "$work/data" "$url/with-$threads"
    cmp "$work/data" "$work/dst/with-$threads/data" || fail "$threads threads"
    [ "$(json_field "$work/last.out" streams)" -eq $threads ] || fail "the report's threads"
done
# --streams is another name of --threads.
expect 0 env UDTX_IO=portable "$send" "${shared[@]}" --streams 4 "$work/data" "$url/portable"
cmp "$work/data" "$work/dst/portable/data" || fail "one datagram a system call"

begun() { [ -n "$(find "$work/dst/cut-$1" -type f -print -quit 2>/dev/null)" ]; }
cut_off() {
    "$send" "${shared[@]}" --threads 4 --rate 8M "$work/data" "$url/cut-$1" 2>"$work/last.err" &
    sender=$!
    receivers+=("$sender")
    until_true 90 begun "$1"
    kill "-$1" "$sender"
    wait_for '130|137' "$sender"
}
cut_off TERM
kill -TERM "$receiver"
wait_for '0|130' "$receiver"

start_recv bereft "${shared[@]}" --threads 3 --dir "$work/dst"
url=udtx://127.0.0.1:$port
cut_off KILL
expect 0 "$send" "${shared[@]}" --threads 16 "$work/data" "$url/after"
cmp "$work/data" "$work/dst/after/data" || fail "after one that was killed"
