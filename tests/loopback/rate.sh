# Both sides keep to a cap by --rate.
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/dst"
head -c 10000000 /dev/urandom >"$work/data"
start_recv r --one-off --dir "$work/dst" --psk-file "$work/psk"
expect 0 "$send" -v --json --rate 40M --psk-file "$work/psk" "$work/data" "udtx://127.0.0.1:$port/"
said "40.0 Mbit/s \(5.00 MB/s\)"
wait_for 0 "$receiver"
cmp "$work/data" "$work/dst/data"
# 80 Mbit of data at 40 Mbit/s take two seconds. Any longer time depends on the machine.
awk -v s="$(json_field "$work/last.out" seconds)" 'BEGIN { exit !(s > 1.8) }' ||
    fail "10 MB at 40 Mbit/s took $(json_field "$work/last.out" seconds) s"

# The receiver's cap also binds a sender without a cap, even one with a fixed rate.
for flags in "" "--policy fixed --rate 400M"; do
    rm "$work/dst/data"  # existing data would not be sent again
    start_recv r --one-off --rate 40M --dir "$work/dst" --psk-file "$work/psk"
    # shellcheck disable=SC2086
    expect 0 "$send" --json $flags --psk-file "$work/psk" "$work/data" "udtx://127.0.0.1:$port/"
    wait_for 0 "$receiver"
    awk -v s="$(json_field "$work/last.out" seconds)" 'BEGIN { exit !(s > 1.8) }' ||
        fail "10 MB to a receiver of 40 Mbit/s took $(json_field "$work/last.out" seconds) s ($flags)"
done

# --policy low ignores --cc, and the report says so.
start_recv r --one-off --dir "$work/dst" --psk-file "$work/psk"
expect 0 "$send" --json --policy low --cc cubic --psk-file "$work/psk" "$work/data" "udtx://127.0.0.1:$port/"
wait_for 0 "$receiver"
[ "$(json_field "$work/last.out" cc)" = '"low"' ] || fail "cc is $(json_field "$work/last.out" cc), not low"

# A probe keeps to the cap, and so does its result. The doctor without a rate uses little bandwidth.
reached() { sed -nE 's/.*"reached_bps":([0-9.e+]+).*/\1/p' "$1"; }
start_recv measured --dir "$work/dst" --psk-file "$work/psk"
"$send" doctor --json --dir "$work" --psk-file "$work/psk" "127.0.0.1:$port" >"$work/doctor.json" 2>"$work/doctor.err" &
doctor=$!
receivers+=("$doctor")
expect 0 "$send" --probe-only --json --rate 200M --psk-file "$work/psk" "udtx://127.0.0.1:$port/"
awk -v r="$(reached "$work/last.out")" 'BEGIN { exit !(r > 0 && r <= 200e6) }' || fail "a probe of 200 Mbit/s: $(cat "$work/last.out")"
wait_for 0 "$doctor"
awk -v r="$(reached "$work/doctor.json")" 'BEGIN { exit !(r > 0 && r <= 5e6) }' || fail "the doctor fills the line: $(cat "$work/doctor.json")"
