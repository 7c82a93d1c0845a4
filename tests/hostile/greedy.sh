# One key reads no answers, fetches slowly, sends only an offer, or asks for long lists of names. The server counts what
# it holds for that key, and serves another key. greedy.sh TOOLS GREEDY_CLIENTS
. "$(dirname "$0")/../loopback/lib.sh"
greedy=$2
[ -r /proc/self/status ] || skip "no /proc to read the memory of a process in"
for name in alice bob server; do "$send" keygen --identity "$work/$name" 2>/dev/null; done
cat "$work/alice.pub" "$work/bob.pub" >"$work/allowed"
mkdir "$work/dst" "$work/dst/many"
head -c 100000000 /dev/zero >"$work/dst/big"
head -c 100000 /dev/urandom >"$work/file"

# incast MODE COUNT MIB [SECONDS]: runs COUNT clients; the server may use MIB. Another key is served three times, SECONDS
# apart.
incast() {
    local mode=$1 peak begin took slowest=0
    start_recv "$mode" --dir "$work/dst" --identity "$work/server" --authorized-keys "$work/allowed"
    : >"$work/$mode.incast"
    "$greedy" "$work/alice" "$(cut -d' ' -f1,2 "$work/server.pub")" "$port" "$2" "$mode" >"$work/$mode.incast" 2>"$work/$mode.err" &
    local clients=$!
    receivers+=("$clients")
    until_true 60 grep -q '^in$' "$work/$mode.incast"
    for i in 1 2 3; do
        begin=$(date +%s%N)
        timeout 30 "$send" --identity "$work/bob" --pin "$work/server.pub" "$work/file" \
            "udtx://127.0.0.1:$port/$mode$i" >"$work/last.out" 2>"$work/last.err" || fail "$mode: another key is not served"
        took=$((($(date +%s%N) - begin) / 1000000))
        [ "$took" -le "$slowest" ] || slowest=$took
        sleep "${4:-0.3}"
    done
    peak=$(awk '/^VmHWM/ { print int($2 / 1024) }' "/proc/$receiver/status")
    kill -KILL "$clients"
    wait "$clients" 2>/dev/null || true
    [ "$peak" -le "$3" ] || fail "$mode: the server took $peak MiB"
    [ "$slowest" -le 8000 ] || fail "$mode: another key was served only after $slowest ms"
    echo "$mode: another key was served within $slowest ms, the server took $peak MiB"
    kill -KILL "$receiver"
    wait "$receiver" 2>/dev/null || true
}
ulimit -S -d 2097152  # one key may use a quarter of it
incast deaf 24 1024 2
incast slow 12 400  # all of them are within the budget
! grep -q '^out' "$work/slow.incast" || fail "slow: $(grep -m 1 '^out' "$work/slow.incast")"
incast names 4 320
ulimit -n 512
incast idle 80 200
grep -q '^out .*limit of connections' "$work/idle.incast" || fail "idle: one key took all descriptors"
