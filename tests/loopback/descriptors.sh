# Started with standard descriptors closed or full: the tools neither hang nor report a false success.
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/dst"
echo x >"$work/file"
start_recv r --dir "$work/dst" --psk-file "$work/psk"
url=udtx://127.0.0.1:$port/

# The tools' own pipes and sockets must not take the numbers of closed descriptors.
expect 11 bash -c "'$send' --psk-file '$work/psk' - '${url}name' <&-"
said "standard input is closed"
expect 0 bash -c "'$send' --psk-file '$work/psk' '$work/file' '$url' <&- >&-"
cmp "$work/file" "$work/dst/file" || fail "the file did not arrive"
expect 0 bash -c "'$send' --psk-file '$work/psk' '$work/file' '${url}quiet' 2>&- <&-"
cmp "$work/file" "$work/dst/quiet/file" || fail "the file did not arrive without standard error"
expect 11 bash -c "'$recv' --listen 127.0.0.1:0 --one-off --psk-file '$work/psk' - >&-"
said "standard output is closed"
expect 11 bash -c "'$send' --json --psk-file '$work/psk' '$work/file' '$url' >&-"
said "standard output.*closed"

# Requested output that cannot be written is an error.
one_line() { [ "$(grep -c -- "$1" "$work/last.err")" -eq 1 ] || fail "not one line about it"; }
if [ -w /dev/full ]; then
    expect 11 bash -c "'$send' --json --psk-file '$work/psk' '$work/file' '$url' >/dev/full"
    one_line "cannot write to standard output: No space"
    expect 11 bash -c "'$send' --help >/dev/full"
    one_line "cannot write to standard output"
    expect 11 "$send" --log /dev/full --psk-file "$work/psk" "$work/file" "$url"
    one_line "--log: cannot write the log /dev/full: No space"
    expect 11 "$recv" --listen 127.0.0.1:0 --log /dev/full --dir "$work/dst" --psk-file "$work/psk"
    one_line "--log: cannot write the log /dev/full: No space"
    # Another error keeps its own code.
    expect 1 bash -c "'$send' --json --rat 5 x '$url' >/dev/full"
fi

# --- a socket that another program bound, as systemd does (packaging/systemd): descriptor 3, LISTEN_FDS and LISTEN_PID
if ! command -v python3 >/dev/null; then
    echo "no python3: no socket is passed on"
    exit 0
fi
# With several protocol threads, others join its port.
for address in 127.0.0.1 ::1 127.0.0.2; do
    threads=1
    [ "$address" != 127.0.0.2 ] || threads=3
    host=$address
    [ "$address" != ::1 ] || host="[::1]"
    mkdir "$work/passed.$address"
    : >"$work/passed.log"
    python3 - "$address" "$recv" --listen fd:3 --protocol-threads "$threads" --dir "$work/passed.$address" --psk-file "$work/psk" 2>"$work/passed.log" <<'EOF' &
import os, socket, sys
s = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)
try:
    s.bind((sys.argv[1], 0))
except OSError as e:
    print("cannot bind:", e, file=sys.stderr)
    sys.exit(77)
if s.fileno() != 3:
    os.dup2(s.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[2], sys.argv[2:])
EOF
    receiver=$!
    receivers+=("$receiver")
    ready() { grep -qE "listening on|cannot bind" "$work/passed.log"; }
    until_true 90 ready
    if grep -q "cannot bind" "$work/passed.log"; then
        echo "no address $address here"
        continue
    fi
    port=$(sed -nE 's/^udtx-recv: listening on .*:([0-9]+)\/udp.*/\1/p' "$work/passed.log")
    here() { cat "/proc/$receiver/net/udp" /proc/$receiver/net/udp6 2>/dev/null | grep -ciE ":$(printf %04x "$port") "; }
    [ "$(here)" -eq $threads ] || grep -q "protocol-threads $threads: only 1 serves" "$work/passed.log" ||
        fail "$(here) sockets at the port for $threads threads"
    for _ in 1 2 3 4; do expect 0 "$send" --psk-file "$work/psk" "$work/file" "udtx://$host:$port/"; done
    cmp "$work/file" "$work/passed.$address/file" || fail "nothing came by the socket that was passed on, $address"
    kill -TERM "$receiver"
    wait_for 0 "$receiver"
done
