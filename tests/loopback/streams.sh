# Standard input and standard output at either end.
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/dst"
head -c 30000000 /dev/urandom >"$work/data"

start_recv pipe --one-off --psk-file "$work/psk" -
expect 0 bash -c "cat '$work/data' | '$send' --psk-file '$work/psk' - 'udtx://127.0.0.1:$port/any'"
wait_for 0 "$receiver"
cmp "$work/data" "$work/pipe.out" || fail "stdin to stdout"

# That needs no name, and the tools do not invent one.
start_recv nameless --one-off --psk-file "$work/psk" -
expect 0 bash -c "cat '$work/data' | '$send' --psk-file '$work/psk' - 'udtx://127.0.0.1:$port'"
wait_for 0 "$receiver"
cmp "$work/data" "$work/nameless.out" || fail "stdin to stdout without a name"

# Such a receiver accepts no tree.
start_recv one --one-off --psk-file "$work/psk" -
expect 11 "$send" --psk-file "$work/psk" "$work/data" "udtx://127.0.0.1:$port/"
said "takes one stream"
never_said "same command"
wait_for 11 "$receiver"

start_recv server --dir "$work/dst" --psk-file "$work/psk"
expect 0 bash -c "cat '$work/data' | '$send' --json --psk-file '$work/psk' - 'udtx://127.0.0.1:$port/sub/name'"
cmp "$work/data" "$work/dst/sub/name" || fail "stdin to a file"
[ "$(json_field "$work/last.out" bytes)" -eq 30000000 ] || fail "bytes"
expect 0 "$send" --psk-file "$work/psk" - "udtx://127.0.0.1:$port/empty" </dev/null
[ -f "$work/dst/empty" ] && [ ! -s "$work/dst/empty" ] || fail "an empty stream makes an empty file"

# A receiver that writes files needs a name, and a directory is not one. Nothing is created, and the pipe is not read to
# its end.
for wrong in '|needs a name here: udtx-send - udtx://HOST:PORT/NAME' "sub|'sub' is a directory: name the file in it, sub/NAME"; do
    expect 11 bash -c "cat '$work/data' | '$send' --psk-file '$work/psk' - 'udtx://127.0.0.1:$port/${wrong%%|*}'"
    said "${wrong#*|}"
done
expect 1 bash -c "echo x | '$send' --psk-file '$work/psk' - 'udtx://127.0.0.1:$port/d/'"
[ "$(cd "$work/dst" && find . | sort | tr '\n' ' ')" = ". ./empty ./sub ./sub/name " ] || fail "made: $(ls -AR "$work/dst")"

# An existing file stays if either end protects it. The message comes before the pipe is read to its end.
expect 11 bash -c "echo new | '$send' --overwrite never --psk-file '$work/psk' - 'udtx://127.0.0.1:$port/sub/name'"
said "'name' exists, and '--overwrite never' protects it"
expect 0 bash -c "echo new | '$send' --overwrite never --psk-file '$work/psk' - 'udtx://127.0.0.1:$port/sub/new'"
start_recv careful --dir "$work/dst" --overwrite never --psk-file "$work/psk"
expect 11 bash -c "cat '$work/data' | '$send' --psk-file '$work/psk' - 'udtx://127.0.0.1:$port/sub/new'"
said "'new' exists, and '--overwrite never' protects it"
cmp "$work/data" "$work/dst/sub/name" && [ "$(cat "$work/dst/sub/new")" = new ] || fail "--overwrite never replaced a file"
[ "$(ls -A "$work/dst/sub")" = "name
new" ] || fail "left behind: $(ls -A "$work/dst/sub")"

# A reader that goes away causes an error, not a hang and not a success.
mkfifo "$work/fifo"
"$recv" --listen 127.0.0.1:0 --one-off --psk-file "$work/psk" - >"$work/fifo" 2>"$work/broken.log" &
receiver=$!
receivers+=("$receiver")
head -c 1000 <"$work/fifo" >/dev/null &
until_true 90 grep -q listening "$work/broken.log"
port=$(sed -nE 's/.*listening on .*:([0-9]+)\/udp.*/\1/p' "$work/broken.log")
got=0
timeout 240 "$send" --psk-file "$work/psk" - "udtx://127.0.0.1:$port/x" <"$work/data" 2>"$work/last.err" || got=$?
[ "$got" -eq 11 ] || fail "sender: exit code $got after the reader left"
wait_for 11 "$receiver"

# A pipe is filled with large writes, but stays in blocking mode, because the reader shares that mode with others. The
# same holds for a socket, which ssh uses for standard output.
command -v python3 >/dev/null || echo "no python3: no other reader of a pipe"
for output in $(command -v python3 >/dev/null && echo pipe socket); do
    rm -f "$work/broken.log"
    python3 - "$output" "$work/reader.out" "$recv" --listen 127.0.0.1:0 --one-off --psk-file "$work/psk" - 2>"$work/broken.log" <<'END' &
import fcntl, os, socket, subprocess, sys, time
output, path, *command = sys.argv[1:]
ours, theirs = os.pipe() if output == "pipe" else [end.detach() for end in socket.socketpair()]
receiver = subprocess.Popen(command, stdout=theirs)
deadline = time.monotonic() + 60
largest = 0
with open(path, "wb") as file:
    while time.monotonic() < deadline:
        flags = fcntl.fcntl(theirs, fcntl.F_GETFL) if theirs is not None else 0
        if flags & os.O_NONBLOCK:
            sys.exit("the descriptor of others does not block any more")
        if receiver.poll() is not None and theirs is not None:
            os.close(theirs)
            theirs = None
        time.sleep(0.02)
        os.set_blocking(ours, False)
        try:
            data = os.read(ours, 1 << 20)
        except BlockingIOError:
            continue
        if not data:
            break
        largest = max(largest, len(data))
        file.write(data)
if largest <= 4096:
    sys.exit(f"no more than {largest} bytes at a time")
sys.exit(receiver.wait())
END
    reader=$!
    until_true 90 grep -q listening "$work/broken.log"
    port=$(sed -nE 's/.*listening on .*:([0-9]+)\/udp.*/\1/p' "$work/broken.log")
    expect 0 bash -c "cat '$work/data' | '$send' --psk-file '$work/psk' - 'udtx://127.0.0.1:$port'"
    wait_for 0 "$reader"
    cmp "$work/data" "$work/reader.out" || fail "stdin to a $output"
done
