# Four shards send 60 small files and a large one that is cut, and mishaps drawn from a seed happen between them. If all
# shards end with 0, the destination has the whole tree. So it has if their receipts merge, or if a shard says that the
# job is complete. Arguments after the usual two: the first seed and the number of seeds.
. "$(dirname "$0")/lib.sh"
make_key
first=${3:-1}
seeds=${4:-$([ -n "$whole" ] && echo 200 || echo 12)}
n=4
base=$work/base
mkdir -p "$base/src/small/deep" "$work/hidden"
for i in $(seq 60); do head -c $((i * 997 % 20000)) /dev/urandom >"$base/src/small/$([ $((i % 4)) -gt 0 ] || echo deep/)$i"; done
head -c 34000000 /dev/urandom >"$base/src/large"
touch -d 2001-02-03 "$base/src/large"
expect 0 "$send" plan -N $n "$base/src"
cp "$work/last.out" "$work/plan"
grep -qP 'src/large\t\d+$' "$work/plan" || fail "the large file is not cut: $(cat "$work/plan")"
# A plan of the tree as it was before the last small file came.
mkdir "$work/earlier"
cp -a "$base/src" "$work/earlier/src"
rm "$work/earlier/src/small/59"
truncate -s 20M "$work/earlier/src/large"
expect 0 "$send" plan -N $n "$work/earlier/src"
cp "$work/last.out" "$work/other-plan"
rm -r "$work/earlier"

# listen A|B [PORT]: a server with its own directory; sets server[...] and ports[...].
declare -A server ports
listen() {
    local at=$1
    listen_at=127.0.0.1:${2:-0}
    mkdir -p "$work/dst$at"
    : >"$work/server.$at.log"
    "$recv" --listen "$listen_at" --dir "$work/dst$at" --psk-file "$work/psk" >/dev/null 2>"$work/server.$at.log" &
    server[$at]=$!
    receivers+=($!)
    listening() { grep -q 'listening on' "$work/server.$at.log"; }
    until_true 60 listening
    ports[$at]=$(sed -nE 's/.*listening on .*:([0-9]+)\/udp.*/\1/p' "$work/server.$at.log" | head -n 1)
}
stop() {
    kill -KILL "${server[$1]}" 2>/dev/null || true
    wait "${server[$1]}" 2>/dev/null || true
}
declare -A code
complete=
# What the next run of a shard differs in; empty: nothing.
plan=$work/plan at=A filters=() missing=
shard() { # shard K [FLAGS...]: runs it; its code goes to code[K]
    local k=$1 got=0
    shift
    complete=
    [ -z "$missing" ] || mv "$work/$missing" "$work/hidden/"
    timeout -k 5 120 "$send" --shard "$k/$n" --plan "$plan" --psk-file "$work/psk" --json --timeout 20 \
        --receipt "$work/receipt.$k" "${filters[@]}" "$@" "$work/src" "udtx://127.0.0.1:${ports[$at]}/" \
        >"$work/shard.$k.out" 2>"$work/shard.$k" || got=$?
    [ -z "$missing" ] || mv "$work/hidden/${missing##*/}" "$work/$missing"
    code[$k]=$got
    [ "$got" -ne 0 ] || complete=$(grep -o '"complete":[a-z]*' "$work/shard.$k.out" || true)
    plan=$work/plan at=A filters=() missing=
    story+=" $k=$got"
}
# interrupted K: starts the shard slowly. Returns when the receiver has some of its data, or when it has ended.
interrupted() {
    "$send" --shard "$1/$n" --plan "$work/plan" --psk-file "$work/psk" --json --timeout 20 --rate 60M \
        --receipt "$work/receipt.$1" "$work/src" "udtx://127.0.0.1:${ports[A]}/" >"$work/shard.$1.out" 2>"$work/shard.$1" &
    slow=$!
    receivers+=("$slow")
    local tries=0
    while [ $((tries += 1)) -lt 400 ] && is_child "$slow" && ! proven "$work/dstA"; do sleep 0.02; done
}

mishap() { # mishap K: before shard K runs
    local kind=$((RANDOM % 17)) got=0 part
    story+=" [$kind]"
    case $kind in
        0) "$recv" clean "$work/dstA" >/dev/null 2>&1 ;;
        1) "$recv" clean --jobs "$work/dstA" >/dev/null 2>&1 ;;
        2) find "$work/dstA" -mindepth 1 -delete ;;
        3) rm -rf "$work/dstA/src" ;;
        4) filters=(--exclude "$([ $((RANDOM % 2)) -eq 0 ] && echo deep/ || echo '7')") ;;
        5) plan=$work/other-plan ;;
        6) at=B ;;
        7) missing=src/$([ $((RANDOM % 2)) -eq 0 ] && echo small/deep || echo large) ;;
        8) # another version of the large file
            version=$((version + 1))
            head -c 34000000 /dev/urandom >"$work/version.$version"
            cp "$work/version.$version" "$work/src/large"
            touch -d "2001-02-03 + $version minutes" "$work/src/large" "$work/version.$version" ;;
        9) rm -f "$work/receipt.$((RANDOM % n))" ;;
        10) return 1 ;; # this shard never runs
        11) shard "$1" ;; # and then again
        12) # the receiver dies, and comes back
            interrupted "$1"
            stop A
            listen A "${ports[A]}"
            wait "$slow" || got=$?
            story+=" killed=$got" ;;
        13) # the sender dies
            interrupted "$1"
            kill -KILL "$slow" 2>/dev/null || true
            wait "$slow" 2>/dev/null || true ;;
        14) # the whole server starts again with an empty directory
            stop A
            rm -rf "$work/dstA"
            listen A "${ports[A]}" ;;
        15) # another program writes into the unfinished file, and hides it
            for part in "$work"/dstA/src/.udtx-*.part; do
                [ -f "$part" ] || continue
                printf foreign | dd of="$part" bs=1 seek=$((RANDOM * RANDOM % 34000000)) conv=notrunc status=none
                touch -d 2001-02-03 "$part"
            done ;;
        16) # a copy takes its place, as a backup restores it, and lacks some of the data
            for part in "$work"/dstA/src/.udtx-*.part; do
                [ -f "$part" ] || continue
                truncate -s "$(stat -c %s "$part")" "$work/restored"
                dd if="$part" of="$work/restored" bs=1M count=$((RANDOM % 34)) conv=notrunc status=none
                mv "$work/restored" "$part"
            done ;;
    esac
}

good=0
for seed in $(seq "$first" $((first + seeds - 1))); do
    RANDOM=$seed
    story="seed $seed:"
    version=0 complete=
    code=()
    rm -rf "$work/src" "$work/dstA" "$work/dstB" "$work"/receipt.* "$work"/version.*
    cp -a "$base/src" "$work/src"
    cp -a "$base/src/large" "$work/version.0"
    listen A
    listen B
    for k in $(shuf -i 0-3 --random-source=<(yes "$seed")); do
        runs=yes
        for _ in 1 2; do
            [ $((RANDOM % 5)) -ge 2 ] || mishap "$k" || runs=
        done
        [ -z "$runs" ] || shard "$k"
    done
    stop A
    stop B
    all=yes
    for k in 0 1 2 3; do [ "${code[$k]:-1}" -eq 0 ] || all=; done
    merged=0
    "$recv" receipt merge "$work/merged" "$work"/receipt.[0-3] >/dev/null 2>"$work/merge" || merged=$?
    # The large file may be a whole older version, if it was complete before it changed.
    whole_tree=
    for v in $(seq 0 $version); do
        ! { cmp -s "$work/version.$v" "$work/dstA/src/large" && diff -rq -x large "$work/src" "$work/dstA/src" >/dev/null &&
            [ -z "$(find "$work/dstA" -name '.udtx-*.part')" ]; } || whole_tree=yes
    done
    story+=" merge=$merged whole=${whole_tree:-no} ${complete}"
    [ -z "${VERBOSE:-}" ] || echo "$story"
    if [ -n "$all" ]; then
        [ -n "$whole_tree" ] || fail "all codes are 0, and the tree is not there: $story: $(diff -rq "$work/src" "$work/dstA/src" 2>&1 | head -n 3)"
        good=$((good + 1))
    fi
    [ "$merged" -ne 0 ] || expect 0 "$recv" verify "$work/merged" "$work/dstA"
    [ "$complete" != '"complete":true' ] || [ -n "$whole_tree" ] || fail "a job is complete, and the tree is not there: $story"
done
[ "$good" -gt 0 ] || fail "no seed had an end without an error"
echo "$seeds seeds, $good of them with code 0 everywhere"
