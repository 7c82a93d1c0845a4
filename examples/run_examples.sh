#!/bin/sh
# Runs the two examples against each other: run_examples.sh SEND_BUFFER STREAM_BYTES
set -eu
dir=$(mktemp -d)
receiver=
trap 'if [ -n "$receiver" ]; then kill "$receiver" 2>/dev/null || :; fi; rm -rf "$dir"' EXIT

: >"$dir/log"
"$2" 127.0.0.1:0 "$dir/key" >"$dir/out" 2>"$dir/log" &
receiver=$!
port=
for _ in $(seq 100); do
    port=$(sed -n 's/^listening on port //p' "$dir/log")
    [ -n "$port" ] && break
    sleep 0.1
done
[ -n "$port" ] || { cat "$dir/log"; exit 1; }

"$1" 127.0.0.1 "$port" "$dir/key" >"$dir/answer"
wait "$receiver" || { cat "$dir/log"; exit 1; }
receiver=
cat "$dir/answer"
grep -qx 'the receiver wrote 8000000 bytes' "$dir/answer"
size=$(tr -d x <"$dir/out" | wc -c)
[ "$size" -eq 0 ] && [ "$(wc -c <"$dir/out")" -eq 8000000 ]
