# A client is stopped until the server has given it up, and goes on. The server answers its first packet with a reset, so
# that it connects again within a round trip, and not when its own time has passed. At once, and when the server has
# forgotten the connection; pushed and fetched.
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/dst" "$work/got" "$work/served"
head -c 24000000 /dev/urandom >"$work/served/file"
# The server gives up after two seconds without an answer, the client only after 20. It asks after a third of that at the latest.
start_recv r --timeout 4 --allow-read --psk-file "$work/psk" --dir "$work"
begun() { [ -n "$(find "$arriving" -name '*.part' -size +4000k)" ]; }
given_up() { [ "$(grep -c "did not answer\|nothing moved for" "$work/r.log")" -gt "$before" ]; }
lost() { grep -q "the connection is lost; reconnecting" "$work/last.err"; }

for longer in 0 4; do
    for way in push fetch; do
        rm -rf "$work/dst/file" "$work/got/file"
        if [ $way = push ]; then
            arriving=$work/dst
            "$send" --json --rate 60M --timeout 40 --psk-file "$work/psk" "$work/served/file" "udtx://127.0.0.1:$port/dst/" >"$work/last.out" 2>"$work/last.err" &
        else
            arriving=$work/got
            "$recv" --json --rate 60M --timeout 40 --psk-file "$work/psk" "udtx://127.0.0.1:$port/served/file" "$work/got/" >"$work/last.out" 2>"$work/last.err" &
        fi
        client=$!
        receivers+=("$client")
        until_true 60 begun
        before=$(grep -c "did not answer\|nothing moved for" "$work/r.log" || true)
        kill -STOP "$client"
        until_true 60 given_up
        sleep $longer
        ! lost || fail "$way: it was not stopped"
        kill -CONT "$client"
        # Far more than a round trip, as all processors may be busy, and far less than the client's time has left.
        true_since "$(now)" 5000 "$way, $longer s after the server gave up: noticed" lost
        wait_for 0 "$client"
        cmp "$work/served/file" "$arriving/file" || fail "$way: not the same"
        [ "$(json_field "$work/last.out" reconnects)" -eq 1 ] || fail "$way: $(json_field "$work/last.out" reconnects) reconnects"
    done
done
