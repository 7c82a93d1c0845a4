# A server closes clients with a valid key that never send a request. It keeps a client whose request is still arriving,
# and one key does not take the place of others.
# silence.sh TOOLS SILENT_CLIENTS
. "$(dirname "$0")/../loopback/lib.sh"
silent=$2
make_key
for name in alice bob server; do "$send" keygen --identity "$work/$name" 2>/dev/null; done
cat "$work/alice.pub" "$work/bob.pub" >"$work/allowed"
mkdir "$work/dst" "$work/dst2"
echo x >"$work/file"
start_recv pinned --dir "$work/dst" --identity "$work/server" --authorized-keys "$work/allowed"
pinned=$port
start_recv shared --dir "$work/dst2" --psk-file "$work/psk"

"$silent" "$work/bob" "$pinned" 1 "$(cut -d' ' -f1,2 "$work/server.pub")" slowly >"$work/slow.out" 2>"$work/slow.err" &
slow=$!
until_true 60 grep -q '^in$' "$work/slow.out"
"$silent" "$work/alice" "$pinned" 300 "$(cut -d' ' -f1,2 "$work/server.pub")" >"$work/alice.out" 2>"$work/alice.err" &
alice=$!
"$silent" "$work/psk" "$port" 100 >"$work/all.out" 2>"$work/all.err" &
all=$!
receivers+=("$alice" "$all" "$slow")
for name in alice all; do until_true 60 grep -q '^in$' "$work/$name.out"; done

# Another key, and another client with the same key, are served at once.
timeout 20 "$send" --identity "$work/bob" --pin "$work/server.pub" "$work/file" "udtx://127.0.0.1:$pinned/" 2>"$work/last.err" ||
    fail "another key is not served"
timeout 20 "$send" --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/" 2>"$work/last.err" || fail "nobody else is served"

for clients in "$alice" "$all"; do wait_for 0 "$clients"; done
# This client connected first, and half of its request has not arrived yet.
! grep -q nothing "$work/slow.out" || fail "who spoke all the time was put out: $(cat "$work/slow.out" "$work/slow.err")"
# Clients beyond a quarter of the server's places replaced others of the same key, or were refused.
grep -qE '^[0-9]+ .*(other clients are waiting|limit of connections)' "$work/alice.out" ||
    fail "one key took all it wanted: $(cat "$work/alice.out")"
for name in alice all; do
    grep -qE '^[0-9]+ .*no request arrived' "$work/$name.out" || fail "they went for another reason: $(cat "$work/$name.out")"
done
kill -TERM "$receiver"
wait_for 0 "$receiver"
