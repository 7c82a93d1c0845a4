# A long-running receiver: keys with a directory, rights and a rate; a rate for all; its log as JSON; a drain on TERM.
. "$(dirname "$0")/lib.sh"
mkdir -p "$work/dst/alice" "$work/run"
export XDG_RUNTIME_DIR=$work/run
for name in server alice bob carol eve; do "$send" keygen --identity "$work/$name" 2>/dev/null; done
head -c 3000000 /dev/urandom >"$work/data"
{
    echo "# who may what"
    echo "dir=\"alice\",write,rate=\"10M\" $(cat "$work/alice.pub") alice at the lab"
    echo "read $(cat "$work/bob.pub") bob from afar"
    cat "$work/carol.pub"
} >"$work/allowed"

# start_recv needs the line in plain text.
start_recv server --log "$work/log" -v --log-files --dir "$work/dst" --identity "$work/server" --authorized-keys "$work/allowed"
expect 0 "$send" --json --identity "$work/alice" --pin "$work/server.pub" "$work/data" "udtx://127.0.0.1:$port/"
cmp "$work/data" "$work/dst/alice/data" || fail "alice writes to her directory"
[ "$(json_field "$work/last.out" limited_by)" = '"rate_cap"' ] || fail "the rate of alice's key does not bind"
# 24 Mbit at 10 Mbit/s
awk -v s="$(json_field "$work/last.out" seconds)" 'BEGIN { exit !(s > 2.0) }' || fail "faster than the key's rate"
grep -q "alice at the lab" "$work/log" || fail "the log does not name alice"
grep -qE "127.0.0.1:[0-9]+ \(alice at the lab\): received '.*/dst/alice/data', 3,000,000 bytes" "$work/server.log" || fail "no line for alice's file"
expect 11 "$send" --identity "$work/bob" --pin "$work/server.pub" "$work/data" "udtx://127.0.0.1:$port/"
said "may not write"
# A dry run does not report a delivery either.
expect 11 "$send" -n --identity "$work/bob" --pin "$work/server.pub" "$work/data" "udtx://127.0.0.1:$port/"
said "may not write"
never_said "delivered"
expect 11 "$send" -n --json --identity "$work/bob" --pin "$work/server.pub" "$work/data" "udtx://127.0.0.1:$port/"
for field in files bytes directories failed_count; do
    [ "$(json_field "$work/last.out" $field)" -eq 0 ] || fail "a refused dry run counts $field"
done
grep -q "refused 127.0.0.1:[0-9]* (bob from afar): this key may not write" "$work/server.log" || fail "bob's push is not in the log"
expect 0 "$send" --identity "$work/carol" --pin "$work/server.pub" "$work/data" "udtx://127.0.0.1:$port/"
cmp "$work/data" "$work/dst/data" || fail "carol writes everywhere"
# A user with write access above a key's directory cannot redirect it elsewhere.
mkdir "$work/outside" "$work/led"
rm "$work/dst/alice/data"
ln -s "$work/outside" "$work/led/alice"
expect 0 "$send" --identity "$work/carol" --pin "$work/server.pub" "$work/led/alice" "udtx://127.0.0.1:$port/"
[ -L "$work/dst/alice" ] || fail "carol has put no link there"
expect 11 "$send" --identity "$work/alice" --pin "$work/server.pub" "$work/data" "udtx://127.0.0.1:$port/"
said "cannot open directory 'alice'|was replaced or mounted again"
[ -z "$(ls -A "$work/outside")" ] || fail "alice was led elsewhere by a link"
expect 11 "$recv" --listen 127.0.0.1:0 --dir "$work/dst" --identity "$work/server" --authorized-keys "$work/allowed"
said "cannot open directory 'alice'"
rm "$work/dst/alice"
expect 40 "$send" --identity "$work/eve" --pin "$work/server.pub" "$work/data" "udtx://127.0.0.1:$port/"

# --- TERM: running transfers complete, new clients are told to come again, and the code is 0
mkfifo "$work/pipe"
"$send" --identity "$work/carol" --pin "$work/server.pub" - "udtx://127.0.0.1:$port/late/name" <"$work/pipe" 2>"$work/late.err" &
late=$!
receivers+=("$late")
exec 7>"$work/pipe"
echo begin >&7
until_true 90 test -d "$work/dst/late"
kill -TERM "$receiver"
until_true 90 grep -q "no new transfers" "$work/server.log"
expect 130 "$send" --timeout 2 --identity "$work/carol" --pin "$work/server.pub" "$work/data" "udtx://127.0.0.1:$port/again"
said "the server is being stopped; reconnecting, for [12]"
said "the server is being stopped.*nothing moved for 2"
# A transfer that cannot be continued has not begun, so it waits too, and a pipe has not been read yet.
expect 130 "$send" --timeout 2 --no-resume --identity "$work/carol" --pin "$work/server.pub" "$work/data" "udtx://127.0.0.1:$port/again"
said "the server is being stopped; reconnecting, for [12]"
{
    expect 130 "$send" --timeout 2 --identity "$work/carol" --pin "$work/server.pub" - "udtx://127.0.0.1:$port/again/name"
    head -c 100 >"$work/rest"
} <"$work/data"
said "the server is being stopped; reconnecting, for [12]"
cmp -n 100 "$work/data" "$work/rest" || fail "a pipe was read although the server takes nothing"
expect 130 "$recv" --timeout 2 --identity "$work/bob" --pin "$work/server.pub" "udtx://127.0.0.1:$port/alice/data" -
said "the server is being stopped; reconnecting, for [12]"
echo end >&7
exec 7>&-
wait_for 0 "$late"
wait_for 0 "$receiver"
[ "$(cat "$work/dst/late/name")" = "$(printf 'begin\nend')" ] || fail "what was under way was cut off"

# --- all senders together keep to --max-rate, and an invalid file of keys is named
make_key
start_recv total --max-rate 16M --metrics 0 --log "$work/total-file" --dir "$work/dst" --psk-file "$work/psk"
metrics=$(sed -nE 's|.*metrics on http://127.0.0.1:([0-9]+)/metrics.*|\1|p' "$work/total.log")
held=()
for i in 1 2; do
    mkfifo "$work/held$i"
    "$send" --psk-file "$work/psk" - "udtx://127.0.0.1:$port/held$i/name" <"$work/held$i" 2>"$work/held$i.err" &
    held+=($!)
    receivers+=("$!")
done
exec 5>"$work/held1" 6>"$work/held2"
# A transfer without progress for some seconds gives up its share.
feed() { while echo more; do sleep 0.3; done 2>/dev/null; }
feed >&5 5>&- 6>&- &
first=$!
feed >&6 5>&- 6>&- &
second=$!
receivers+=("$first" "$second")
shares() {
    exec 8<>"/dev/tcp/127.0.0.1/$metrics"
    printf 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n' >&8
    sed '1,/^\r*$/d' <&8 >"$work/metrics"
    exec 8>&-
    [ "$(grep -cE "^udtx_transfer_cap_bytes_per_second\{.*\} $1\$" "$work/metrics")" -eq "$2" ]
}
until_true 90 shares '1e\+06' 2
check_metrics "$work/metrics"
# It lists who sends what to which destination.
"$recv" ctl | grep "^{\"pid\":$receiver," >"$work/server.json" || fail "ctl does not list the server"
for value in 'role "server"' "port $port" 'transfer_count 2'; do
    [ "$(json_field "$work/server.json" "${value%% *}")" = "${value#* }" ] || fail "ctl does not say $value: $(cat "$work/server.json")"
done
json_field "$work/server.json" transfers | grep -q '"who":"127.0.0.1:[0-9]*","role":"receiver","directory":"/' ||
    fail "ctl says of its transfers: $(cat "$work/server.json")"
kill -STOP "$first"
until_true 90 shares '2e\+06' 2
kill -CONT "$first"
until_true 90 shares '1e\+06' 2
kill "$first"
exec 5>&-
wait_for 0 "${held[0]}"
until_true 90 shares '2e\+06' 1
# If several clients are refused within a second, one is named and the others are counted.
"$send" keygen "$work/other" 2>/dev/null
strangers=()
for i in 1 2 3 4 5; do
    "$send" --psk-file "$work/other" "$work/data" "udtx://127.0.0.1:$port/" 2>"$work/other$i.err" &
    strangers+=($!)
    receivers+=("$!")
done
for stranger in "${strangers[@]}"; do wait_for 40 "$stranger"; done
refused() {
    awk '/refused [0-9,]+ more clients? within/ { sub(/ more client.*/, ""); n += $NF; next }
        /: refused / { n++ } END { print n + 0 }' "$1"
}
all_told() { [ "$(refused "$work/total.log")" -eq 5 ]; }
until_true 20 all_told
grep -qE "refused [0-9]+ more clients? within a second; -v lists all" "$work/total.log" || fail "each of the refused has a line"
shares '2e\+06' 1
grep -q '^udtx_refused_total 5$' "$work/metrics" || fail "not all refusals are counted: $(grep refused "$work/metrics")"
! grep -q ' debug: ' "$work/total-file" || fail "--log has details without -v: $(grep -m 1 ' debug: ' "$work/total-file")"
[ "$(refused "$work/total-file")" -eq 5 ] || fail "the file of --log does not count the refused"
# Two TERMs half a second apart: running transfers end, too.
kill -TERM "$receiver"
until_true 90 grep -q "no new transfers" "$work/total.log"
sleep 0.5
kill -TERM "$receiver"
wait_for 130 "$receiver"
wait_for 130 "${held[1]}"
exec 6>&-
kill "$second" 2>/dev/null || true
[ -z "$(ls "$work/run/udtx")" ] || fail "sockets were left behind"

echo "wirte $(cat "$work/carol.pub")" >"$work/wrong"
expect 40 "$recv" --listen 127.0.0.1:0 --dir "$work/dst" --identity "$work/server" --authorized-keys "$work/wrong"
said "wrong, line 1: the option 'wirte' is unknown"

# --- messages as JSON, one object per line
"$recv" --listen 127.0.0.1:0 --log-format json --log "$work/json-log" --log-files --allow-read --dir "$work/dst" --psk-file "$work/psk" 2>"$work/json.log" &
receiver=$!
receivers+=("$receiver")
until_true 90 grep -q "listening on" "$work/json.log"
port=$(sed -nE 's/.*listening on [^ ]*:([0-9]+)\/udp.*/\1/p' "$work/json.log")
# Names are escaped, and stay whole for machines.
mkdir "$work/odd" "$work/back"
odd=$'two\nlines "\xff"'
echo content >"$work/odd/$odd"
expect 0 "$send" --psk-file "$work/psk" "$work/odd/$odd" "udtx://127.0.0.1:$port/odd"
expect 0 "$recv" --psk-file "$work/psk" "udtx://127.0.0.1:$port/odd" "$work/back"
for result in received sent; do
    until_true 30 grep -q "\"result\":\"$result\"" "$work/json.log"
    grep "\"result\":\"$result\"" "$work/json.log" >"$work/one-line"
    [ "$(wc -l <"$work/one-line")" -eq 1 ] || fail "not one line: $(cat "$work/one-line")"
    [ "$(json_field "$work/one-line" event)" = '"file"' ] || fail "no event: $(cat "$work/one-line")"
    [ "$(json_field "$work/one-line" bytes)" = 8 ] || fail "no size: $(cat "$work/one-line")"
    json_field "$work/one-line" path_hex | grep -q "$(printf '/odd/%s' "$odd" | od -An -tx1 | tr -d ' \n')" || fail "another name: $(cat "$work/one-line")"
    [ "$(json_field "$work/one-line" direction)" = "\"$([ $result = sent ] && echo send || echo receive)\"" ] || fail "another direction: $(cat "$work/one-line")"
    json_field "$work/one-line" peer | grep -qE '^"127.0.0.1:[0-9]+"$' || fail "no peer: $(cat "$work/one-line")"
done
kill -TERM "$receiver"
wait_for 0 "$receiver"
for file in "$work/json.log" "$work/json-log"; do
    while IFS= read -r line; do
        printf '%s\n' "$line" >"$work/one-line"
        [ "$(json_field "$work/one-line" program)" = '"udtx-recv"' ] || fail "not a JSON log: $line"
    done <"$file"
done

# --- the log of files: each file, link or stream, which way it went, and its full name, of one source or several
mkdir -p "$work/audit/x/deep" "$work/audit/z" "$work/got"
printf 'four' >"$work/audit/x/one"
printf 'three' >"$work/audit/x/deep/two"
printf 'sixty' >"$work/audit/z/three"
ln -s one "$work/audit/x/link"
start_recv audit --log "$work/audit.json" --log-files --allow-read --dir "$work/audit" --psk-file "$work/psk" --timeout 5
audit=udtx://127.0.0.1:$port
audited=0
file_lines() { sed -nE "s|.*127.0.0.1:[0-9]+[^:]*: (received\|sent\|failed to [a-z]+) '$work/audit/([^']*)'[:,] (([0-9]+) byte)?.*|\1 \2 \4|p" "$work/audit.log"; }
# logged LINES: what the log has about files since the last call.
logged() {
    local wanted
    wanted=$((audited + $(printf '%s\n' "$1" | wc -l)))
    settled() { [ "$(file_lines | wc -l)" -ge "$wanted" ]; }
    until_true 30 settled
    file_lines | tail -n +$((audited + 1)) | sed 's/ $//' | LC_ALL=C sort >"$work/audit.is"
    audited=$(file_lines | wc -l)
    printf '%s\n' "$1" | diff - "$work/audit.is" || fail "the log of files"
}
# a directory, the contents of another one, and a file
expect 0 "$recv" --psk-file "$work/psk" "$audit/x" "$audit/z/" "$audit/x/deep/two" "$work/got"
logged "sent x/deep/two 5
sent x/deep/two 5
sent x/link 0
sent x/one 4
sent z/three 5"
# An unchanged file is not sent.
expect 0 "$recv" --psk-file "$work/psk" "$audit/x" "$audit/z/" "$work/got"
logged "sent x/link 0"
expect 0 "$recv" -n --psk-file "$work/psk" "$audit/x" "$audit/z/" "$work/none/"
# streams, in both directions
expect 0 "$recv" --psk-file "$work/psk" "$audit/x/deep/two" -
[ "$(cat "$work/last.out")" = three ] || fail "the stream"
logged "sent x/deep/two 5"
printf 'streamed' | expect 0 "$send" --psk-file "$work/psk" - "$audit/new/in"
logged "received new/in 8"
printf 'streamed' | expect 11 "$send" --psk-file "$work/psk" --overwrite never - "$audit/new/in"
logged "failed to receive new/in"
mkfifo "$work/slow"
exec 9<>"$work/slow"  # the pipe has no end while this is open
printf 'half' >&9
"$send" --psk-file "$work/psk" - "$audit/new/half" <"$work/slow" 2>"$work/half.err" &
half=$!
receivers+=("$half")
begun() { find "$work/audit/new" -name '.udtx*' -size +0 | grep -q .; }
until_true 60 begun
kill -KILL "$half"
exec 9>&-
logged "failed to receive new/half"
# a file that fails, in each direction
mkdir "$work/audit/z/blocked" "$work/push"
touch "$work/audit/z/blocked/x" "$work/push/blocked"
expect 11 "$send" --psk-file "$work/psk" "$work/push/blocked" "$audit/z"
logged "failed to receive z/blocked"
if [ "$(id -u)" -ne 0 ]; then
    chmod 000 "$work/audit/x/one"
    expect 23 "$recv" --psk-file "$work/psk" --overwrite always "$audit/x" "$audit/z/three" "$work/got"
    logged "failed to send x/one
sent x/deep/two 5
sent x/link 0
sent z/three 5"
fi
kill -TERM "$receiver"
wait_for 0 "$receiver"
# A receiver that writes to its standard output has no name for what it gets.
start_recv pipe --log-files --one-off --psk-file "$work/psk" -
printf 'streamed' | expect 0 "$send" --psk-file "$work/psk" - "udtx://127.0.0.1:$port/"
wait_for 0 "$receiver"
grep -qE "127.0.0.1:[0-9]+[^:]*: received '-', 8 bytes" "$work/pipe.log" || fail "no line for a stream to standard output"
