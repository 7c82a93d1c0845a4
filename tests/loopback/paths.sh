# One transfer over several source addresses of this host, and the messages about impossible paths.
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/dst"
head -c 60000000 /dev/urandom >"$work/data"
count() { json_field "$work/last.out" paths | grep -o "$1" | wc -l; }

start_recv r --one-off -v --json --progress --dir "$work/dst" --psk-file "$work/psk"
expect 0 "$send" -v --progress --json --rate 200M --scheduler rr --path 127.0.0.1 --path 127.0.0.2 --path 127.0.0.3,127.0.0.1,weight=2 \
    --psk-file "$work/psk" "$work/data" "udtx://127.0.0.1:$port/"
wait_for 0 "$receiver"
cmp "$work/data" "$work/dst/data"
[ "$(count '"local":"127.0.0.[123]:')" -eq 3 ] || fail "not three paths: $(json_field "$work/last.out" paths)"
# A peer that gets no processor time looks like a dead path, so "suspended" is accepted here.
[ "$(count '"state":"\(active\|suspended\)"')" -eq 3 ] || fail "not all in use: $(json_field "$work/last.out" paths)"
[ "$(count '"bytes":0,')" -eq 0 ] || fail "a path carried nothing: $(json_field "$work/last.out" paths)"
said "path 1 from 127.0.0.2 to 127.0.0.1:$port: active"
never_said "nothing came back on it"
# At 200 Mbit/s it took 2.4 s, so there were at least two lines of progress, with the paths below them.
said "^path 1  127.0.0.2 -> 127.0.0.1:$port  [a-z]+  .*bit/s.*  loss [0-9.]+%"
grep -qE "^path [0-9]  127.0.0.1 -> 127.0.0.[123]:[0-9]+  [a-z]+  .*bit/s" "$work/r.log" || fail "no paths in the receiver's progress"
fields='local remote carrier state bytes goodput_bps rtt_ms loss mtr_bps cd blocked_s reinjected_bytes'
[ "$(json_field "$work/last.out" paths | grep -oE '"[a-z_]+":' | tr -d '":' | sort -u)" = "$(printf '%s\n' $fields | sort)" ] ||
    fail "fields: $(json_field "$work/last.out" paths)"

received=$(json_field "$work/r.out" paths)
[ "$(grep -o '"bytes":[1-9]' <<<"$received" | wc -l)" -eq 3 ] || fail "what came over each path: $received"

# Failover: the second path carries no data while the first works.
rm "$work/dst/data"
start_recv r --one-off --dir "$work/dst" --psk-file "$work/psk"
expect 0 "$send" --json --rate 200M --coupling lia --multipath failover --path 127.0.0.1 --path 127.0.0.2 \
    --psk-file "$work/psk" "$work/data" "udtx://127.0.0.1:$port/"
wait_for 0 "$receiver"
cmp "$work/data" "$work/dst/data"

[ "$(json_field "$work/last.out" cc)" = '"lia"' ] || fail "the controller: $(json_field "$work/last.out" cc)"

# The second path has no peer: it costs only its probes.
rm "$work/dst/data"
start_recv r --one-off --dir "$work/dst" --psk-file "$work/psk"
expect 0 "$send" --json --rate 200M --path 127.0.0.1 --path 127.0.0.2,127.0.0.99 \
    --psk-file "$work/psk" "$work/data" "udtx://127.0.0.1:$port/"
wait_for 0 "$receiver"
cmp "$work/data" "$work/dst/data"
[ "$(count '"state":"probing"')" -eq 1 ] || fail "the dead path: $(json_field "$work/last.out" paths)"
said "path 1 from 127.0.0.2 to 127.0.0.99:$port: nothing came back on it"
json_field "$work/last.out" warnings | grep -q "nothing came back" || fail "no warning: $(json_field "$work/last.out" warnings)"

# The first path has no peer: the connection is made over the second.
rm "$work/dst/data"
start_recv r --one-off --dir "$work/dst" --psk-file "$work/psk"
expect 0 "$send" --json --path 127.0.0.2,127.0.0.99 --path 127.0.0.1 \
    --psk-file "$work/psk" "$work/data" "udtx://127.0.0.1:$port/"
wait_for 0 "$receiver"
cmp "$work/data" "$work/dst/data"

url=udtx://127.0.0.1:7011/
refused() {
    local what=$1
    shift
    expect 1 "$send" --psk-file "$work/psk" "$@" "$work/data" "$url"
    said "$what"
}
refused "nosuch0.*interfaces here: .*lo" --path nosuch0
refused "192.0.2.77.*interfaces here: .*lo" --path 192.0.2.77
refused "weight must be" --path 127.0.0.1,weight=0
refused "not understood" --path 127.0.0.1,127.0.0.1,speed=3
refused "family" --path ::1
refused "needs at least two" --multipath failover --path 127.0.0.1
refused "use aggregate or failover" --multipath both
refused "use one of .*eds" --scheduler fastest
many=()
for i in 1 2 3 4 5 6 7 8 9; do many+=(--path "127.0.0.$i"); done
refused "9 paths, at most 8" "${many[@]}"
