# Strangers at the TCP port of a server: they hold few connections for a short time, clients with the key are served
# beside them, and nobody without the right key learns why it was refused.
. "$(dirname "$0")/lib.sh"
python3 -c 'import ssl, sys; sys.exit(sys.version_info < (3, 8) or not ssl.HAS_TLSv1_3)' 2>/dev/null ||
    skip "needs python3, 3.8 or newer, with TLS 1.3"
make_key
"$send" keygen "$work/other" 2>/dev/null
"$send" keygen --identity "$work/mine" 2>/dev/null
"$send" keygen --identity "$work/server" 2>/dev/null
mkdir "$work/dst"
head -c 2000000 /dev/urandom >"$work/file"

cat >"$work/strangers.py" <<'PY'
"""strangers.py hold PORT COUNT: opens connections of several kinds and holds them; prints "held", then how many the
server has closed, and after how many seconds the last one.
strangers.py say PORT: what the server does with a caller that sends garbage inside of TLS."""
import os, selectors, socket, ssl, sys, time
port = int(sys.argv[2])
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

def connect():
    # Another host than the clients with the key: all of 127.0.0.0/8 is this one.
    s = socket.create_connection(("127.0.0.1", port), 5, ("127.0.0.2", 0))
    s.settimeout(5)
    return s

def hello():
    """The first bytes that TLS sends."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing)
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()

def stranger(kind):
    s = connect()
    if kind == 1:
        s.sendall(hello()[:60])
    elif kind == 2:
        s.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    elif kind == 3:
        s.sendall(os.urandom(200))
    elif kind == 4:
        s = context.wrap_socket(s)
    elif kind == 5:
        s = context.wrap_socket(s)
        s.sendall((1200).to_bytes(2, "big") + os.urandom(1000))
    return s

if sys.argv[1] == "hold":
    begun = time.monotonic()
    held = selectors.DefaultSelector()
    refused = 0
    for i in range(int(sys.argv[3])):
        try:
            s = stranger(i % 6)
            s.setblocking(False)
            held.register(s, selectors.EVENT_READ)
        except OSError:
            refused += 1
    print("held", len(held.get_map()), refused, flush=True)
    last = 0.0
    while held.get_map() and time.monotonic() - begun < 30:
        for key, _ in held.select(1):
            try:
                over = key.fileobj.recv(4096) == b""
            except (ssl.SSLWantReadError, BlockingIOError):
                over = False
            except OSError:
                over = True
            if over:
                held.unregister(key.fileobj)
                key.fileobj.close()
                last = time.monotonic() - begun
    print("left", len(held.get_map()), f"{last:.1f}", flush=True)
else:
    s = context.wrap_socket(connect())
    # The header of a HELLO of this version
    s.sendall((1200).to_bytes(2, "big") + bytes.fromhex("8075647804") + os.urandom(1195))
    got = b""
    try:
        while data := s.recv(4096):
            got += data
    except (TimeoutError, socket.timeout):
        pass
    except OSError as error:
        got += type(error).__name__.encode()
    print(len(got), got[:8].hex())
PY

start_recv r --dir "$work/dst" --psk-file "$work/psk"
before=$(ls "/proc/$receiver/fd" | wc -l)
memory=$(awk '/^VmRSS:/ { print $2 }' "/proc/$receiver/status")
python3 "$work/strangers.py" hold "$port" 300 >"$work/held" 2>"$work/held.err" &
strangers=$!
receivers+=("$strangers")
until_true 20 grep -q '^held' "$work/held"
# No more than the budget of one host: 64 that are half open, and descriptors for those that were just closed.
now=$(ls "/proc/$receiver/fd" | wc -l)
[ "$((now - before))" -le 72 ] || fail "$((now - before)) descriptors for strangers"
# Clients with the key are served meanwhile.
for way in udp tcp; do
    expect 0 "$send" --transport $way --json --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/$way/"
    cmp "$work/file" "$work/dst/$way/file" || fail "$way: the file differs"
    ! grep -o '"carrier": *"[a-z]*"' "$work/last.out" | grep -v "\"$way\"" || fail "$way: another way was used"
done
wait_for 0 "$strangers"
read -r _ left last < <(grep '^left' "$work/held")
[ "$left" -eq 0 ] || fail "$left strangers are still connected"
awk -v t="$last" 'BEGIN { exit t > 15 }' || fail "the last stranger was closed after $last s"
until_true 20 test "$(ls "/proc/$receiver/fd" | wc -l)" -le "$((before + 1))"
grown=$(($(awk '/^VmRSS:/ { print $2 }' "/proc/$receiver/status") - memory))
sanitized || [ "$grown" -lt 40000 ] || fail "the server has grown by $grown KiB"
echo "300 strangers: closed after $last s at most, $((now - before)) descriptors, $grown KiB"

# Garbage gets no answer. Who has the wrong key learns over TCP what it learns over UDP.
garbage=$(python3 "$work/strangers.py" say "$port")
[ "$garbage" = "0 " ] || fail "garbage gets an answer: $garbage"
for keys in "--psk-file $work/other" "--identity $work/mine --pin $work/server.pub"; do
    for way in udp tcp; do
        # shellcheck disable=SC2086  # several words
        expect 40 "$send" --transport $way --timeout 10 $keys "$work/file" "udtx://127.0.0.1:$port/"
        cp "$work/last.err" "$work/$way.said"
    done
    cmp "$work/udp.said" "$work/tcp.said" || fail "$keys: other words over TCP"
done
