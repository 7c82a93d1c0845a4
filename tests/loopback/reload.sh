# HUP makes a server read its keys again: new clients get the new keys and rights, transfers of removed keys end, all
# others continue. Keys that cannot be read change nothing.
. "$(dirname "$0")/lib.sh"
mkdir -p "$work/dst/alice" "$work/dst/carol" "$work/dst/shut"
for name in server alice bob carol; do "$send" keygen --identity "$work/$name" 2>/dev/null; done
echo content >"$work/file"
key() { cut -d' ' -f1,2 "$work/$1.pub"; }
# held NAME DIR KEYS...: starts a transfer to DIR/NAME/data that lasts until its pipe is closed; sets $held and the
# descriptor $pipe
held() {
    local name=$1 dir=$2
    shift 2
    mkfifo "$work/$name.pipe"
    "$send" "$@" - "udtx://127.0.0.1:$port/$name/data" <"$work/$name.pipe" 2>"$work/$name.err" &
    held=$!
    receivers+=("$held")
    exec {pipe}>"$work/$name.pipe"
    echo begin >&"$pipe"
    until_true 60 test -d "$dir/$name"
}
# reloaded NAME TEXT: sends HUP, and waits for a line with TEXT
reloaded() {
    local before
    before=$(wc -l <"$work/$1.log")
    kill -HUP "$receiver"
    told() { tail -n +$((before + 1)) "$work/$1.log" | grep -qE "SIGHUP: $2"; }
    until_true 30 told "$@"
}
as() { echo --identity "$work/$1" --pin "$work/server.pub"; }

{ echo "dir=\"alice\",write $(key alice) alice"; echo "$(key bob) bob"; } >"$work/allowed"
# --protocol-threads: each thread has to take the keys.
start_recv keyed --protocol-threads 3 --dir "$work/dst" --identity "$work/server" --authorized-keys "$work/allowed"
# shellcheck disable=SC2046
{
    held stays "$work/dst/alice" $(as alice)
    stays=$held stays_pipe=$pipe
    held ends "$work/dst" $(as bob)
    ends=$held
    expect 40 "$send" $(as carol) "$work/file" "udtx://127.0.0.1:$port/"
}

# A broken file, one with a missing directory, and one that is gone: all stays as it was.
cp "$work/allowed" "$work/good"
echo "wirte $(key carol)" >"$work/allowed"
reloaded keyed "the keys cannot be read again, and the earlier ones stay valid: .*line 1: the option 'wirte' is unknown"
echo "dir=\"nowhere\" $(key carol)" >"$work/allowed"
reloaded keyed "the keys cannot be read again, .*nowhere: No such file"
rm "$work/allowed"
reloaded keyed "the keys cannot be read again, .*No such file"
kill -0 "$stays" "$ends" || fail "a transfer has ended"
# shellcheck disable=SC2046
expect 0 "$send" $(as bob) "$work/file" "udtx://127.0.0.1:$port/before"
# shellcheck disable=SC2046
expect 40 "$send" $(as carol) "$work/file" "udtx://127.0.0.1:$port/"

# bob goes, carol comes, alice may now read and no longer write.
{ echo "dir=\"alice\",read $(key alice) alice"; echo "$(key carol) carol"; } >"$work/allowed"
reloaded keyed "2 keys in .*allowed, 1 added, 1 removed"
wait_for 40 "$ends"
grep -q "receiver: the server no longer accepts the key of this client" "$work/ends.err" || fail "bob is not told why"
until_true 30 grep -q "(bob): the server no longer accepts the key of this client" "$work/keyed.log"
# shellcheck disable=SC2046
{
    expect 40 "$send" $(as bob) "$work/file" "udtx://127.0.0.1:$port/"
    said "does not authorise|is not authorised|refused our key|not authorised"
    for i in 1 2 3 4; do expect 0 "$send" $(as carol) "$work/file" "udtx://127.0.0.1:$port/carol/$i"; done
    cmp "$work/file" "$work/dst/carol/4/file" || fail "carol's file is not there"
    expect 11 "$send" $(as alice) "$work/file" "udtx://127.0.0.1:$port/"
    said "may not write"
}
# alice's earlier transfer keeps the rights with which it began.
echo end >&"$stays_pipe"
exec {stays_pipe}>&-
wait_for 0 "$stays"
[ "$(cat "$work/dst/alice/stays/data")" = "$(printf 'begin\nend')" ] || fail "a transfer was cut off"
kill -TERM "$receiver"
wait_for 0 "$receiver"

# The sandbox cannot grant a new directory: the server says so at once, and refuses with the remedy.
if ! sanitized; then
    echo "dir=\"alice\",write $(key alice) alice" >"$work/allowed"
    start_recv shut -v --dir "$work/dst" --identity "$work/server" --authorized-keys "$work/allowed"
    if grep -q "sandbox: writes below its directories only" "$work/shut.log"; then
        echo "dir=\"shut\",write $(key carol) carol" >>"$work/allowed"
        reloaded shut "2 keys"
        grep -q "dst/shut: the sandbox of the server forbids writing there.*start the server again" "$work/shut.log" ||
            fail "the server does not say that carol cannot write"
        # shellcheck disable=SC2046
        expect 11 "$send" $(as carol) "$work/file" "udtx://127.0.0.1:$port/"
        said "start the server again"
    fi
    kill -TERM "$receiver"
    wait_for 0 "$receiver"
fi

# --- a pre-shared key that is replaced: its transfers end
make_key
cp "$work/psk" "$work/old"
start_recv shared --protocol-threads 2 --dir "$work/dst" --psk-file "$work/psk"
held same "$work/dst" --psk-file "$work/old"
same=$held
reloaded shared "the key was read again"
sleep 0.5
kill -0 "$same" || fail "the same key ends a transfer"
chmod 644 "$work/psk"
reloaded shared "the keys cannot be read again.*others can read"
rm "$work/psk"
"$send" keygen "$work/psk" 2>/dev/null
reloaded shared "the key was read again"
wait_for 40 "$same"
grep -q "no longer accepts the key" "$work/same.err" || fail "the client with the old key is not told why"
for i in 1 2 3 4; do
    expect 0 "$send" --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/new$i"
    expect 40 "$send" --psk-file "$work/old" "$work/file" "udtx://127.0.0.1:$port/old$i"
done
kill -TERM "$receiver"
wait_for 0 "$receiver"
