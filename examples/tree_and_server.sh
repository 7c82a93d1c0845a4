#!/usr/bin/env bash
# tree_and_server.sh <tree> <server>: sends a directory to a server and fetches it from another one, unchanged.
set -euo pipefail
tree=$1 server=$2
work=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"

serve() {  # serve [once]: starts the server; sets pid and the address at which it listens
    : >log
    "$server" 127.0.0.1:0 key served "$@" >log &
    pid=$!
    for _ in $(seq 200); do
        address=$(sed -n 's/^listening on //p' log)
        [ -z "$address" ] || return 0
        sleep 0.05
    done
    exit 1
}

mkdir -p source/sub/empty served
seq 200000 >source/sub/numbers
echo text >source/small
ln -s small source/link

serve once
"$tree" send "$address" key source in
wait "$pid"
grep -q ' sent 2 files: complete$' log
diff -r source served/in/source

serve
"$tree" fetch "$address" key in/source copy
diff -r source copy
! "$tree" fetch "$address" key in/nothing more 2>errors
grep -q nothing errors
kill "$pid"
wait "$pid"
grep -q ' fetched 2 files: complete$' log
grep -q ' fetched 0 files: ' log
