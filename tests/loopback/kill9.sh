# kill -9 of either side leaves no file under its final name that is not complete.
. "$(dirname "$0")/lib.sh"
make_key
mkdir -p "$work/dst" "$work/src"
for i in $(seq 40); do head -c 500000 /dev/urandom >"$work/src/f$i"; done

all_complete() {
    local file
    for file in "$work"/src/f*; do
        [ ! -e "$work/dst/src/${file##*/}" ] || cmp "$file" "$work/dst/src/${file##*/}" || fail "${file##*/} is not complete"
    done
}
some_arrived() { [ "$(find "$work/dst" -type f -name 'f*' | wc -l)" -ge 3 ]; }

for victim in sender receiver; do
    rm -rf "$work/dst"
    mkdir "$work/dst"
    start_recv "r-$victim" --one-off --timeout 2 --dir "$work/dst" --psk-file "$work/psk"
    "$send" --timeout 2 --rate 40M --psk-file "$work/psk" "$work/src" "udtx://127.0.0.1:$port/" 2>"$work/s-$victim.err" &
    sender=$!
    receivers+=("$sender")
    until_true 20 some_arrived
    if [ $victim = sender ]; then
        kill -KILL "$sender"
        wait_for 137 "$sender"
        wait_for 30 "$receiver"
    else
        kill -KILL "$receiver"
        wait_for 137 "$receiver"
        got=0
        wait "$sender" || got=$?
        [ "$got" -eq 30 ] || [ "$got" -eq 10 ] || fail "the sender ended with $got"
    fi
    all_complete
    [ "$(find "$work/dst" -type f -name 'f*' | wc -l)" -lt 40 ] || fail "it was over before the kill"
done
