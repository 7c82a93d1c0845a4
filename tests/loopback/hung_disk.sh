# A disk below the served directory hangs in syncs and reads, and more clients use it than there are disk threads for
# that. Other clients are served, and a signal ends the server.
. "$(dirname "$0")/lib.sh"
has_fuse || skip "$no_fuse"
make_key
mkdir -p "$work/dst/hung" "$work/below" "$work/src" "$work/out"
head -c 100000 /dev/urandom >"$work/src/f"
cp "$work/src/f" "$work/below/stands"
cp "$work/src/f" "$work/dst/stands"
mount_fuse "$work/dst/hung" passing_fs.py "$work/below" || skip "$no_fuse"
touch "$work/below.hang"
start_recv r --allow-read --dir "$work/dst" --psk-file "$work/psk"
server=${receivers[-1]}
url=udtx://127.0.0.1:$port

# --- five clients that sync there, and one that reads and then quits
clients=()
for i in 1 2 3 4 5; do
    takes_int "$send" -q --psk-file "$work/psk" "$work/src/f" "$url/hung/$i/" 2>"$work/push$i.err" &
    clients+=($!)
done
receivers+=("${clients[@]}")
written() { [ "$(find "$work/below" -name '*.part' -size +0 | wc -l)" -eq 5 ]; }
until_true 30 written
expect 124 timeout -s INT 1 "$recv" -q --psk-file "$work/psk" "$url/hung/stands" "$work/out"
expect 0 timeout 30 "$send" --psk-file "$work/psk" "$work/src/f" "$url/other/"
expect 0 timeout 30 "$recv" --psk-file "$work/psk" "$url/stands" "$work/out"
cmp "$work/src/f" "$work/out/stands" || fail "the contents differ"

# --- a signal ends the server as soon as the kernel releases the hanging syncs
kill -INT "${clients[@]}"
kill -INT "$server"
until_true 30 grep -q '^udtx-recv: interrupted by SIGINT' "$work/r.log"
rm "$work/below.hang"
wait_for 130 "$server"
