# An end that reads or compares for longer than --timeout, while no data moves, tells the other one that it works. Each
# read of 1 MiB takes 0.1 s here, so that 60 MB take 6 s.
. "$(dirname "$0")/lib.sh"
need_strace
make_key
slowly() { # slowly NAME PROGRAM: makes $work/NAME, the program with slow reads
    printf '#!/bin/sh\nexec strace -D -f -qq -o /dev/null -e trace=pread64 -e inject=pread64:delay_enter=100000 "%s" "$@"\n' "$2" >"$work/$1"
    chmod +x "$work/$1"
}
slowly slow-send "$send"
slowly slow-recv "$recv"
mkdir "$work/src" "$work/dst" "$work/far" "$work/got"
head -c 60000000 /dev/urandom >"$work/src/f"
touch -d '1 hour ago' "$work/src/f"
patience=(--timeout 3 --psk-file "$work/psk")
start_recv quick --allow-read --dir "$work/dst" "${patience[@]}"
near=udtx://127.0.0.1:$port
fast=$recv
recv=$work/slow-recv start_recv slow --allow-read --dir "$work/far" "${patience[@]}"
far=udtx://127.0.0.1:$port
# One block differs from the source.
cp -p "$work/src/f" "$work/got/f"
for at in dst far; do
    cp -p "$work/src/f" "$work/$at/f"
    printf differs | dd of="$work/$at/f" bs=1 seek=5000000 conv=notrunc status=none
    touch -r "$work/src/f" "$work/$at/f"
done

declare -A ran=()
run() { # run NAME COMMAND...: in the background, since most of it is waiting
    local name=$1
    shift
    "$@" >"$work/$name.out" 2>"$work/$name.err" &
    ran[$!]=$name
    receivers+=($!)
}
# The sender compares, the receiver does, or a server that sends.
run dry-sender "$work/slow-send" -n -c "${patience[@]}" "$work/src/f" "$near/"
run dry-receiver "$send" -n -c "${patience[@]}" "$work/src/f" "$far/"
run server "$fast" -c "${patience[@]}" "$far/f" "$work/got/"
# A file that grows is read a second time, also as a stream.
mkdir "$work/growing"
for name in tree stream; do
    cp "$work/src/f" "$work/growing/$name"
    touch -d '1 hour ago' "$work/growing/$name"
done
run tree "$work/slow-send" "${patience[@]}" "$work/growing/tree" "$near/"
run stream bash -c 'exec "$@" <"$0"' "$work/growing/stream" "$work/slow-send" "${patience[@]}" --rate 100M - "$near/stream"
sleep 2
for name in tree stream; do echo more >>"$work/growing/$name"; done
all_well() {
    local pid got
    for pid in "${!ran[@]}"; do
        got=0
        wait "$pid" || got=$?
        [ $got -eq 0 ] || fail "${ran[$pid]}: exit code $got: $(cat "$work/${ran[$pid]}.err")"
    done
    ran=()
}
all_well
cmp "$work/far/f" "$work/got/f" || fail "what was fetched differs"
for name in tree stream; do cmp -n 60000000 "$work/src/f" "$work/dst/$name" || fail "$name differs"; done
grep -q '1 file grew while being read' "$work/tree.err" || fail "the file was not read twice: $(cat "$work/tree.err")"
# The same without -n: the old file is read, and one block is sent.
run sender "$work/slow-send" -c "${patience[@]}" "$work/src/f" "$near/"
run receiver "$send" -c "${patience[@]}" "$work/src/f" "$far/"
all_well
for at in dst far; do cmp "$work/src/f" "$work/$at/f" || fail "$at: the file differs"; done
for name in sender receiver; do
    grep -qE '5[789]\.[0-9] MB were there already' "$work/$name.err" || fail "$name sends all of it: $(cat "$work/$name.err")"
done
