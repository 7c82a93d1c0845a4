# F21: a connection survives forged packets to both ends, with its current addresses and id.
. "$(dirname "$0")/lib.sh"
each=50000
size=24000000
rate=24M
if [ -n "$whole" ]; then
    each=500000
    size=150000000
    rate=20M
fi
make_key
mkdir "$work/dst"
head -c $size /dev/urandom >"$work/data"
start_recv r --one-off --timeout 60 --dir "$work/dst" --psk-file "$work/psk"
start_relay line forge=$each
expect 0 "$send" --json --timeout 60 --rate $rate --psk-file "$work/psk" "$work/data" "udtx://127.0.0.1:$line/"
grep -q "^forged $((2 * each))$" "$work/line.relay" || fail "the transfer was over before the forged packets"
[ "$(reported reconnects)" -eq 0 ] || fail "the connection did not live: another one went on"
wait_for 0 "$receiver"
cmp "$work/data" "$work/dst/data" || fail "the file differs"
fault_case F21 "forged packets on the live 4-tuple (100,000; 10^6 in the whole matrix): the connection survives, and the file is complete" \
    "$((2 * each)) forged, $(stat -c %s "$work/dst/data") of $size bytes whole"
