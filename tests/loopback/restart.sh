# A server that is restarted under load refuses nobody: new clients wait for its successor, and a transfer that outlasts
# --drain continues there. As under systemd, the socket stays open meanwhile, as descriptor 3.
if [ -z "${PASSED_PORT:-}" ]; then
    command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
    exec python3 - "$0" "$@" <<'EOF'
import os, socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 0))
os.environ["PASSED_PORT"] = str(s.getsockname()[1])
if s.fileno() != 3:
    os.dup2(s.fileno(), 3)
os.set_inheritable(3, True)
os.execvp("bash", ["bash"] + sys.argv[1:])
EOF
fi
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/dst"
head -c 300000 /dev/urandom >"$work/small"
head -c 30000000 /dev/urandom >"$work/long"
url=udtx://127.0.0.1:$PASSED_PORT
serve() {
    "$recv" --listen fd:3 --drain 1 --allow-read --psk-file "$work/psk" --dir "$work/dst" 2>>"$work/server.log" &
    receiver=$!
    receivers+=("$receiver")
}

# Each worker sends and fetches without a pause until the restarts are over.
touch "$work/goes-on"
worker() {
    local n=0
    while [ -e "$work/goes-on" ]; do
        n=$((n + 1))
        "$send" -q --psk-file "$work/psk" "$work/small" "$url/$1.$n" 2>>"$work/worker$1.err" || return 1
        "$recv" -q --psk-file "$work/psk" "$url/$1.$n/small" "$work/back$1" 2>>"$work/worker$1.err" || return 1
        cmp -s "$work/small" "$work/back$1" || return 2
    done
    echo $n >"$work/count$1"
}
serve
workers=()
for i in 1 2 3; do
    worker $i 3>&- &
    workers+=($!)
    receivers+=($!)
done
"$send" --rate 24M --psk-file "$work/psk" "$work/long" "$url/long/" >"$work/last.out" 2>"$work/last.err" 3>&- &
long=$!
receivers+=("$long")
for round in 1 2 3 4; do
    listens() { [ "$(grep -c "listening on" "$work/server.log")" -ge "$round" ]; }
    until_true 60 listens
    sleep 1
    kill -TERM "$receiver"
    wait_for 0 "$receiver"
    serve
done
rm "$work/goes-on"
for pid in "${workers[@]}"; do wait_for 0 "$pid"; done
wait_for 0 "$long"
cmp "$work/long" "$work/dst/long/long" || fail "the long transfer is damaged"
said "the server is being stopped; reconnecting"
said "reconnected [0-9]+ times?"
grep -q "drain 1.* is over: the running transfers end, and their clients connect again" "$work/server.log" || fail "the server does not say that it ends transfers"
awk '{ n += $1 } END { print n " transfers there and back" }' "$work"/count*
kill -TERM "$receiver"
wait_for 0 "$receiver"

expect 1 "$recv" --listen :0 --drain soon --dir "$work/dst" --psk-file "$work/psk"
said "drain"
expect 1 "$recv" --listen :0 --drain 5 --one-off --dir "$work/dst" --psk-file "$work/psk"
said "drain.*one-off"
