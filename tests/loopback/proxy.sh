# TCP goes through a proxy: CONNECT and SOCKS5, with and without a password, from --proxy and ALL_PROXY. A refusal names
# the proxy's reason.
. "$(dirname "$0")/lib.sh"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null || skip "needs python3, 3.8 or newer"
make_key
head -c 3000000 /dev/urandom >"$work/file"

cat >"$work/proxy.py" <<'PY'
"""proxy.py http|socks5 [USER:PASSWORD [BYTES]]: prints its port, and a line for each connection that it made. Each one
passes on so many bytes per second."""
import base64, socket, sys, threading, time
kind, login, most = sys.argv[1], *(sys.argv[2:3] or [""]), int((sys.argv[3:4] or ["0"])[0])

def pump(a, b):
    try:
        while data := a.recv(65536):
            b.sendall(data)
            if most:
                time.sleep(len(data) / most)
    except OSError:
        pass
    for s in (a, b):
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

def exact(s, n):
    data = b""
    while len(data) < n:
        data += s.recv(n - len(data)) or sys.exit()
    return data

def http(s):
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += exact(s, 1)
    lines = head.decode().split("\r\n")
    if login and "Proxy-Authorization: Basic " + base64.b64encode(login.encode()).decode() not in lines:
        return s.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
    host, port = lines[0].split()[1].rsplit(":", 1)
    return host, int(port), lambda good: s.sendall(b"HTTP/1.1 200 OK\r\n\r\n" if good else b"HTTP/1.1 502 Bad Gateway\r\n\r\n")

def socks5(s):
    methods = exact(s, exact(s, 2)[1])
    if login:
        if 2 not in methods:
            return s.sendall(b"\x05\xff")
        s.sendall(b"\x05\x02")
        user = exact(s, exact(s, 2)[1])
        if user + b":" + exact(s, exact(s, 1)[0]) != login.encode():
            return s.sendall(b"\x01\x01")
        s.sendall(b"\x01\x00")
    else:
        s.sendall(b"\x05\x00")
    host = exact(s, exact(s, 5)[4]).decode()
    port = int.from_bytes(exact(s, 2), "big")
    return host, port, lambda good: s.sendall((b"\x05\x00" if good else b"\x05\x05") + b"\x00\x01\x00\x00\x00\x00\x00\x00")

def serve(s):
    asked = http(s) if kind == "http" else socks5(s)
    if not asked:
        return s.close()
    host, port, answer = asked
    try:
        far = socket.create_connection((host, port), 5)
    except OSError:
        answer(False)
        return s.close()
    answer(True)
    print(f"to {host}:{port}", flush=True)
    threading.Thread(target=pump, args=(far, s), daemon=True).start()
    pump(s, far)

listener = socket.create_server(("127.0.0.1", 0))
print("port", listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
PY

# start_proxy NAME WORDS...: sets $proxied, its HOST:PORT.
start_proxy() {
    local name=$1 found
    shift
    python3 "$work/proxy.py" "$@" >"$work/$name.proxy" 2>/dev/null &
    receivers+=("$!")
    for _ in $(seq 200); do
        found=$(sed -n 's/^port //p' "$work/$name.proxy")
        [ -z "$found" ] || break
        sleep 0.02
    done
    proxied=127.0.0.1:$found
}
serve() {
    rm -rf "$work/dst"
    mkdir "$work/dst"
    start_recv "r$RANDOM" --one-off --timeout 20 --dir "$work/dst" --psk-file "$work/psk"
}
arrived() {  # NAME: through that proxy
    cmp "$work/file" "$work/dst/file" || fail "the file differs"
    grep -q "^to 127.0.0.1:$port\$" "$work/$1.proxy" || fail "it did not go through the proxy $1"
    said "over TCP"
}
send() { expect "$1" "$send" --timeout 20 --transport tcp --psk-file "$work/psk" "${@:2}" "$work/file" "udtx://127.0.0.1:$port/"; }

for kind in http socks5; do
    start_proxy "$kind" $kind
    open=$proxied
    start_proxy "$kind-login" $kind me:secret
    serve
    send 0 --proxy "$kind://$open"
    arrived "$kind"
    serve
    send 0 --proxy "$kind://me:secret@$proxied"
    arrived "$kind-login"
    serve
    ALL_PROXY=$kind://me:secret@$proxied send 0
    arrived "$kind-login"
    serve
    send 10 --proxy "$kind://me:wrong@$proxied"
    said "the proxy refuses"
    send 10 --proxy "$kind://$proxied"
    said "the proxy (refuses|asks)|the proxy does not speak"
    kill "$receiver"
    send 10 --proxy "$kind://$open"
    said "the proxy refuses a connection to 127.0.0.1"
done
send 10 --proxy http://127.0.0.1:1
said "the proxy: .*refused"
ALL_PROXY=nonsense expect 1 "$send" --psk-file "$work/psk" "$work/file" udtx://127.0.0.1:9/
said "ALL_PROXY: 'nonsense' is not a proxy"

# A proxy that limits each connection: several carry the data, and they are counted by what they bring.
head -c 40000000 /dev/urandom >"$work/file"
start_proxy slow http "" 2000000
serve
send 0 -v --proxy "http://$proxied"
arrived slow
said "3 TCP connections carry the data"
! grep -q "brings little" "$work/last.err" || fail "a connection that brings as much as the others was closed"
