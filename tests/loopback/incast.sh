# Clients that stop in the middle of a transfer: they cost the server no threads and delay nobody. Third argument:
# incast_clients; fourth: their number, if there are enough descriptors; fifth: protocol threads of the server.
. "$(dirname "$0")/lib.sh"
[ -d /proc/self/task ] || skip "no /proc to count threads in"
incast=$3
count=$4
protocol_threads=$5
most=$(ulimit -Hn)
[ "$most" = unlimited ] || [ "$most" -ge $((20 * count)) ] || count=$((most / 20))
make_key
mkdir "$work/src" "$work/dst" "$work/got"
head -c 3000000 /dev/urandom >"$work/src/file"
for i in 1 2 3 4 5; do echo "$i" >"$work/src/small$i"; done
start_recv r --dir "$work/dst" --psk-file "$work/psk" --allow-read --protocol-threads "$protocol_threads"

threads() { find "/proc/$receiver/task" -mindepth 1 -maxdepth 1 | wc -l; }
# The line about the port comes before the last thread.
settled() { before=$(threads) && sleep 0.5 && [ "$(threads)" -eq "$before" ]; }
until_true 20 settled
mkfifo "$work/go"
"$incast" "$work/psk" "$port" "$count" <"$work/go" >"$work/incast.out" 2>"$work/incast.err" &
clients=$!
receivers+=("$clients")
exec 8>"$work/go"
all_there() { grep -q "^begun $count$" "$work/incast.out" || { kill -0 "$clients" || fail "the incast has left"; false; }; }
until_true 120 all_there
now=$(threads)
[ "$now" -eq "$before" ] || fail "$now threads with $count clients, $before without"
[ "$now" -le $((31 + protocol_threads)) ] || fail "$now threads"

# Other clients are served meanwhile, in both directions.
expect 0 "$send" --psk-file "$work/psk" "$work/src/" "udtx://127.0.0.1:$port/pushed"
cmp "$work/src/file" "$work/dst/pushed/file" || fail "what was pushed"
expect 0 "$recv" --psk-file "$work/psk" "udtx://127.0.0.1:$port/pushed/" "$work/got"
cmp "$work/src/file" "$work/got/file" || fail "what was fetched"

# Once they continue, all of them are served.
echo >&8
exec 8>&-
wait_for 0 "$clients"
grep -q "^confirmed $count, refused 0" "$work/incast.out" || fail "$(tail -n 1 "$work/incast.out")"
[ "$(find "$work/dst/incast" -name file -size 5c | wc -l)" -eq "$count" ] || fail "not all files are there"
[ "$(threads)" -le $((31 + protocol_threads)) ] || fail "threads at the end"
[ "$protocol_threads" -gt 1 ] || fault_case F79 "1,000 real connections at once, less the server's own two: all finish, at most 32 threads" \
    "$(sed -n 's/^confirmed \([0-9]*\),.*/\1/p' "$work/incast.out") of $count, $(threads) threads"
kill -TERM "$receiver"
wait_for 0 "$receiver"
