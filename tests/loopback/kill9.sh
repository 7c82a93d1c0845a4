# kill -9 of either side: every file under its final name is complete, and the other side ends after its --timeout.
. "$(dirname "$0")/lib.sh"
make_key
mkdir -p "$work/src"
for i in $(seq 40); do head -c 500000 /dev/urandom >"$work/src/f$i"; done

all_complete() {
    local file
    for file in "$work"/src/f*; do
        [ ! -e "$work/dst/src/${file##*/}" ] || cmp "$file" "$work/dst/src/${file##*/}" || fail "${file##*/} is not complete"
    done
}
arrived() { find "$work/dst" -type f -name 'f*' | wc -l; }
some_arrived() { [ "$(arrived)" -ge 3 ]; }

# Long enough that a busy machine does not look like a dead peer.
timeout=8
for victim in sender receiver; do
    rm -rf "$work/dst"
    mkdir "$work/dst"
    start_recv "r-$victim" --one-off --timeout $timeout --dir "$work/dst" --psk-file "$work/psk"
    "$send" --timeout $timeout --rate 8M --psk-file "$work/psk" "$work/src" "udtx://127.0.0.1:$port/" 2>"$work/last.err" &
    sender=$!
    receivers+=("$sender")
    until_true 90 some_arrived
    if [ $victim = sender ]; then
        kill -KILL "$sender"
        wait_for 137 "$sender"
        wait_for 30 "$receiver"
        cp "$work/r-$victim.log" "$work/last.err"
    else
        kill -KILL "$receiver"
        wait_for 137 "$receiver"
        wait_for "30|10" "$sender"
    fi
    said "(did not answer|nothing moved|nothing listens).* delivered complete .*not delivered"
    [ "$(grep -cE "did not answer|nothing moved|nothing listens" "$work/last.err")" -eq 1 ] || fail "not one plain line"
    all_complete
    [ "$(arrived)" -lt 40 ] || fail "it was over before the kill"
done
