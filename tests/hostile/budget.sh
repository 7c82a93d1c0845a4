# One key uses up its budgets of connections, transfers and memory at a server. The server serves another key within 2
# s, and its memory stays bounded. budget.sh TOOLS SILENT_CLIENTS
. "$(dirname "$0")/../loopback/lib.sh"
greedy=$2
[ -r /proc/self/status ] || skip "no /proc to read the memory of a process in"
for name in alice bob server; do "$send" keygen --identity "$work/$name" 2>/dev/null; done
cat "$work/alice.pub" "$work/bob.pub" >"$work/allowed"
mkdir "$work/dst" "$work/src"
head -c 1000000 /dev/urandom >"$work/src/file"
# One key may use a quarter of this memory.
ulimit -S -d 2097152
start_recv r --dir "$work/dst" --identity "$work/server" --authorized-keys "$work/allowed"
ulimit -S -d unlimited

# serve_bob NAME: pushes a file with the other key; keeps the longest time in milliseconds in $slowest.
slowest=0
serve_bob() {
    local begin=$(date +%s%N) took
    timeout 30 "$send" --identity "$work/bob" --pin "$work/server.pub" "$work/src/file" "udtx://127.0.0.1:$port/$1" \
        >"$work/last.out" 2>"$work/last.err" || fail "another key is not served"
    took=$((($(date +%s%N) - begin) / 1000000))
    [ "$took" -le "$slowest" ] || slowest=$took
    cmp -s "$work/src/file" "$work/dst/$1/file" || cmp -s "$work/src/file" "$work/dst/$1" || fail "what bob has sent"
}
: >"$work/alice.out"
"$greedy" "$work/alice" "$port" 300 "$(cut -d' ' -f1,2 "$work/server.pub")" 3 >"$work/alice.out" 2>"$work/alice.err" &
alice=$!
receivers+=("$alice")
until_true 120 grep -q '^in$' "$work/alice.out"
serve_bob during  # while the data arrives at the single thread that moves packets
until_true 60 grep -q '^out .*need more memory' "$work/alice.out"
slowest=0
for i in 1 2 3 4; do serve_bob "after$i"; done
grep -q '^out .*limit of connections' "$work/alice.out" || fail "one key took all the connections that it wanted"

peak=$(awk '/^VmHWM/ { print int($2 / 1024) }' "/proc/$receiver/status")
[ "$slowest" -le 2000 ] || fail "another key was served only after $slowest ms"
[ "$peak" -le 1024 ] || fail "the server took $peak MiB"
echo "one key at its budgets: another was served within $slowest ms, the server took $peak MiB"
kill -KILL "$alice"
wait "$alice" 2>/dev/null || true
serve_bob last
kill -TERM "$receiver"
