# A server with few threads or descriptors serves as many clients as it can, tells the others the reason, and survives.
. "$(dirname "$0")/lib.sh"
make_key
for i in 1 2 3 4 5; do head -c 2000000 /dev/urandom >"$work/f$i"; done

# five NAME: five clients at once. Each delivers, or ends with a reason from the server. Sets $delivered.
five() {
    local i got pids=()
    for i in 1 2 3 4 5; do
        timeout 100 "$send" --psk-file "$work/psk" "$work/f$i" "udtx://127.0.0.1:$port/$1" 2>"$work/$1$i.err" &
        pids+=($!)
    done
    delivered=0
    for i in 1 2 3 4 5; do
        got=0
        wait "${pids[i - 1]}" || got=$?
        if [ "$got" -eq 0 ]; then
            cmp "$work/f$i" "$work/$1/$1/f$i" || fail "$1: file $i"
            delivered=$((delivered + 1))
        else
            grep -qE "no resources left.*try again" "$work/$1$i.err" || fail "$1: client $i ended with $got for no reason of the server"
            [ "$got" -eq 10 ] || fail "$1: client $i ended with $got instead of 10"
        fi
        kill -0 "$receiver" 2>/dev/null || fail "$1: the server has ended"
    done
}

# --- descriptors: enough for two clients
mkdir "$work/fds"
(ulimit -n 40 && exec "$recv" --listen 127.0.0.1:0 --dir "$work/fds" --psk-file "$work/psk") >"$work/fds.out" 2>"$work/fds.log" &
receiver=$!
receivers+=("$receiver")
listens() { grep -q "listening on" "$work/$1.log" || { kill -0 "$receiver" || fail "$1: does not listen"; false; }; }
until_true 90 listens fds
port=$(sed -nE 's/^udtx-recv: listening on .*:([0-9]+)\/udp.*/\1/p' "$work/fds.log")
five fds
# The server releases the descriptors of the five when their connections have ended, which takes a moment.
serves() { timeout -k 5 60 "$send" --psk-file "$work/psk" "$work/f1" "udtx://127.0.0.1:$port/fds" >"$work/last.out" 2>"$work/last.err"; }
until_true 30 serves
kill -TERM "$receiver"
wait_for 0 "$receiver"

# If the system forbids threads, the limit of processes is not the remedy.
if command -v strace >/dev/null && strace -qq -o /dev/null true 2>/dev/null; then
    need_strace
    expect 10 strace -f -qq -o /dev/null -e trace=clone3,clone -e inject=clone3,clone:error=EPERM \
        "$send" --psk-file "$work/psk" "$work/f1" udtx://127.0.0.1:9/
    said "cannot start .*; the system forbids it: allow clone3"
fi

# --- a file waits for a descriptor: four clients at once push, and then fetch, many files in many directories
mkdir "$work/few"
for i in $(seq 200); do
    mkdir -p "$work/many/d$((i % 20))"
    echo "file $i" >"$work/many/d$((i % 20))/f$i"
done
head -c 3000000 /dev/urandom >"$work/many/large"
(ulimit -n 64 && exec "$recv" --listen 127.0.0.1:0 --allow-read --dir "$work/few" --psk-file "$work/psk") >"$work/few.out" 2>"$work/few.log" &
receiver=$!
receivers+=("$receiver")
until_true 90 listens few
port=$(sed -nE 's/^udtx-recv: listening on .*:([0-9]+)\/udp.*/\1/p' "$work/few.log")
for round in push again pull; do
    pids=()
    for i in 1 2 3 4; do
        command=("$send" -a --psk-file "$work/psk" "$work/many/" "udtx://127.0.0.1:$port/c$i")
        [ "$round" != pull ] || command=("$recv" -a --psk-file "$work/psk" "udtx://127.0.0.1:$port/c$i/" "$work/fetched$i")
        [ "$round" != again ] || command+=(--overwrite always)
        timeout 100 "${command[@]}" 2>"$work/few$i.err" &
        pids+=($!)
    done
    for i in 1 2 3 4; do
        got=0
        wait "${pids[i - 1]}" || got=$?
        [ "$got" -eq 0 ] || fail "$round: client $i of 4 ended with $got: $(cat "$work/few$i.err")"
        diff -r "$work/many" "$work/few/c$i" || fail "$round: client $i: the trees differ"
        [ "$round" != pull ] || diff -r "$work/many" "$work/fetched$i" || fail "client $i: the fetched tree differs"
    done
done
kill -TERM "$receiver"
wait_for 0 "$receiver"

# --- threads: limited by a pids cgroup, or by the limit of a user without other processes
group=/sys/fs/cgroup/pids/udtx-test.$$
start=()
if mkdir "$group" 2>/dev/null && echo 8 >"$group/pids.max"; then
    start=(bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group")
elif [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null && command -v prlimit >/dev/null; then
    chmod 711 "$work"
    chmod 644 "$work/psk"
    start=(setpriv --reuid 54321 --regid 54321 --clear-groups prlimit --nproc=8)
else
    skip "neither a pids cgroup nor another user to limit threads with"
fi
mkdir "$work/pids"
chmod 777 "$work/pids"
"${start[@]}" "$recv" --listen 127.0.0.1:0 --dir "$work/pids" --psk-file "$work/psk" >"$work/pids.out" 2>"$work/pids.log" &
receiver=$!
receivers+=("$receiver")
until_true 90 listens pids
port=$(sed -nE 's/^udtx-recv: listening on .*:([0-9]+)\/udp.*/\1/p' "$work/pids.log")
five pids
[ "$delivered" -gt 0 ] || fail "nobody was served"
[ "$(find "/proc/$receiver/task" -mindepth 1 -maxdepth 1 | wc -l)" -le 8 ] || fail "the limit does not hold here"
five pids
kill -TERM "$receiver"
wait_for 0 "$receiver"

# If no thread at all is available, the tool reports that at once.
if [ -d "$group" ]; then
    echo 3 >"$group/pids.max"
    expect 10 "${start[@]}" "$recv" --listen 127.0.0.1:0 --dir "$work/pids" --psk-file "$work/psk"
    said "cannot start"
    rmdir "$group" || true
fi
