# Several shards and two servers send one large file. Each shard sends a part of it, and the last one gives it its final
# name. Killed shards continue in another run. Shards with different views of the tree report that.
. "$(dirname "$0")/lib.sh"
make_key
src=$work/src
mkdir -p "$work/dst" "$src/dir"
head -c 60000000 /dev/urandom >"$src/large"
truncate -s 40M "$src/sparse"
head -c 9000000 /dev/urandom | dd of="$src/sparse" bs=1M seek=14 conv=notrunc status=none
for i in $(seq 60); do head -c $((i * 997 % 20000)) /dev/urandom >"$src/dir/$i"; done
chmod 640 "$src/large"
touch -d 2001-02-03T04:05:06 "$src/large"
start_recv a --allow-read --dir "$work/dst" --psk-file "$work/psk"
ports=("$port")
server=$receiver
start_recv b --allow-read --dir "$work/dst" --psk-file "$work/psk"
ports+=("$port")
n=4
# begin K [FLAGS...]: starts shard K to server K mod 2, in the background.
begin() {
    local k=$1
    shift
    "$send" --shard "$k/$n" --psk-file "$work/psk" --receipt "$work/receipt.$k" "$@" "$src" \
        "udtx://127.0.0.1:${ports[$((k % 2))]}/" >"$work/shard.$k.out" 2>"$work/shard.$k" &
    shard[$k]=$!
    receivers+=($!)
}
# ended CODE: each shard ends with CODE.
ended() {
    local k status
    for k in "${!shard[@]}"; do
        status=0
        wait "${shard[$k]}" || status=$?
        [ "$status" -eq "$1" ] || fail "shard $k ended with $status: $(cat "$work/shard.$k")"
    done
    shard=()
}
nothing_left() {
    local left
    left=$(find "$work/dst" -name '.udtx-*')
    [ -z "$left" ] || fail "left behind: $left"
}
all_there() {
    diff -r "$src" "$work/dst/src" || fail "the tree differs"
    [ "$(stat -c '%a %Y' "$src/large")" = "$(stat -c '%a %Y' "$work/dst/src/large")" ] || fail "the large file has another mode or time"
    nothing_left
}
# deliver_first K...: these shards deliver into an empty destination, by the plan.
deliver_first() {
    local k
    rm -r "$work/dst/src"
    for k; do begin "$k" -p --plan "$work/plan"; done
    ended 0
}
declare -A shard

# --- all at once, without a plan: each shard scans the tree
for k in 0 1 2 3; do begin $k -p; done
ended 0
all_there
[ "$(stat -c %b "$work/dst/src/sparse")" -le "$(($(stat -c %b "$src/sparse") + 64))" ] || fail "holes were filled"
expect 0 "$recv" receipt merge "$work/all" "$work"/receipt.[0-3]
expect 0 "$recv" verify "$work/all" "$work/dst"
expect 0 "$recv" verify "$work/receipt.1" "$work/dst"
expect 41 "$recv" receipt merge "$work/some" "$work"/receipt.[0-2]
said 'the receipt of shard 3/4 is missing'
# The same receipt as that of one process.
mkdir "$work/one"
start_recv one --dir "$work/one" --psk-file "$work/psk"
expect 0 "$send" -p --psk-file "$work/psk" --receipt "$work/receipt" "$src" "udtx://127.0.0.1:$port/"
expect 0 "$recv" receipt merge "$work/whole" "$work/receipt"
cmp "$work/whole" "$work/all" || fail "the merged receipt is not that of one process"

# --- again: nothing is sent, and no temporary files are left
for k in 0 1 2 3; do begin $k -p; done
ended 0
all_there
grep -q '0 files, 0 B, 1 unchanged' "$work/shard.1" || fail "a shard run again sends data: $(cat "$work/shard.1")"

# --- one shard before the others: it has finished, and the file has no final name yet
rm -r "$work/dst/src"
expect 0 "$recv" clean --jobs "$work/dst"
nothing_left
begin 1 -p --json
ended 0
grep -q '1 of 4 shards done, [12] files* waits* for others' "$work/shard.1" || fail "shard 1 says: $(cat "$work/shard.1")"
grep -q '"shard":1,"shards":4,"done":1,"waiting_files":[12],"complete":false' "$work/shard.1.out" ||
    fail "shard 1 reports $(cat "$work/shard.1.out")"
# Without its record of the job, the other shards would begin another one and end without an error.
expect 0 "$recv" clean "$work/dst"
said 'kept .*\.job: a job waits: 1 of 4 shards are done'
said '0 files, 0 B removed'
[ ! -e "$work/dst/src/large" ] || fail "a part of a file has its name"
# The shard changes to another server, and proves which data exists.
begin 1 -p --json
ended 0
[ "$(json_field "$work/shard.1.out" sent_bytes)" -lt 2000000 ] || fail "a part that is there is sent again"
# A sender and a server are killed during the rest. The server restarts, and its shard connects again.
for k in 0 2 3; do begin $k -p --rate 16M --timeout 60; done
until_true 60 proven "$work/dst" 3
kill -KILL "${shard[2]}" "$server"
wait "${shard[2]}" "$server" 2>/dev/null || true
"$recv" --listen "127.0.0.1:${ports[0]}" --allow-read --dir "$work/dst" --psk-file "$work/psk" >/dev/null 2>"$work/again.log" &
receivers+=($!)
listening() { grep -q 'listening on' "$work/again.log"; }
until_true 30 listening
unset 'shard[2]'
[ ! -e "$work/dst/src/large" ] || fail "it was over before the kill"
begin 2 -p --json
ended 0
[ "$(json_field "$work/shard.2.out" resumed_bytes)" -gt 0 ] || fail "the shard that was killed sends everything again"
[ "$(cat "$work"/shard.[023] | grep -c 'all 4 shards done')" -eq 1 ] || fail "not one shard completes: $(cat "$work"/shard.[023])"
all_there

# --- the destination is removed between the shards
for k in 0 1; do begin $k; done
ended 0
expect 0 "$recv" clean --jobs "$work/dst"
rm -r "$work/dst/src"
begin 2
ended 0
# Now each shard has delivered everything, but not into one tree.
begin 3 --json
ended 11
grep -q 'shards 0, 1 delivered to another directory, or to one that was removed: run all shards again' "$work/shard.3" ||
    fail "shard 3 says: $(cat "$work/shard.3")"
grep -q '"exit_code":11' "$work/shard.3.out" || fail "shard 3 reports $(cat "$work/shard.3.out")"
[ ! -e "$work/dst/src/large" ] || fail "two of four shards complete a file"
expect 41 "$recv" receipt merge "$work/some" "$work"/receipt.[0-3]
said 'receipt.2 belongs to another run of the job than .*receipt.0.*Remove the job at the receiver, run all shards again'
expect 0 "$recv" clean --jobs "$work/dst"
for k in 0 1 2; do begin $k -p; done
ended 0
begin 3 -p --json
ended 0
grep -q '"done":4,"waiting_files":0,"complete":true' "$work/shard.3.out" || fail "the last shard reports $(cat "$work/shard.3.out")"
expect 0 "$recv" receipt merge "$work/all" "$work"/receipt.[0-3]
all_there

# --- shards with different views of the tree
rm -r "$work/dst/src"
begin 0 -p
ended 0
head -c 30000000 /dev/urandom >"$src/before"
expect 11 "$send" --shard 1/$n --psk-file "$work/psk" -p "$src" "udtx://127.0.0.1:${ports[0]}/"
said 'the tree changed since this job began.*--plan.*--job'
expect 0 "$send" --shard 1/$n --job second --psk-file "$work/psk" -p "$src" "udtx://127.0.0.1:${ports[0]}/"
expect 0 "$recv" clean --jobs "$work/dst"
nothing_left

# --- one shard sees an older version of the large file
rm -r "$work/dst/src"
expect 0 "$send" plan -N $n "$src"
cp "$work/last.out" "$work/plan"
grep -qP 'src/large\t\d+$' "$work/plan" || fail "the large file is not cut: $(cat "$work/plan")"
begin 1 -p --plan "$work/plan"
ended 0
touch -d 2001-02-03T04:05:05 "$src/large"
begin 2 -p --plan "$work/plan"
ended 11
grep -q 'another shard sends a newer version' "$work/shard.2" || fail "shard 2 says: $(cat "$work/shard.2")"
touch -d 2001-02-03T04:05:07 "$src/large"
for k in 0 1 2 3; do begin $k -p --plan "$work/plan"; done
ended 0
all_there

# --- the file changes after some shards have ended: the last shard fails and names the remedy
deliver_first 0 1
touch -d 2001-02-03T04:05:08 "$src/large"
begin 2 -p --plan "$work/plan"
ended 0
begin 3 -p --plan "$work/plan"
ended 11
grep -q "'src/large': bytes [0-9]* to [0-9]* are missing.*Run all shards again" "$work/shard.3" || fail "shard 3 says: $(cat "$work/shard.3")"
[ ! -e "$work/dst/src/large" ] || fail "parts of two versions have the name"
for k in 0 1 2 3; do begin $k -p --plan "$work/plan"; done
ended 0
all_there

# --- between the shards, another program writes into what some have filled: data, or a hole
deliver_first 0 1 2
for part in "$work"/dst/src/.udtx-*.part; do
    printf foreign | dd of="$part" bs=1 seek=1000000 conv=notrunc status=none
    touch -d 2001-02-03 "$part"
done
begin 3 -p --plan "$work/plan"
ended 11
grep -qE "'src/(large|sparse)': bytes [0-9]* to [0-9]* are missing.*changed. Run all shards again" "$work/shard.3" ||
    fail "shard 3 says: $(cat "$work/shard.3")"
[ ! -e "$work/dst/src/large" ] || fail "a file that another program changed has its name"
for k in 0 1 2 3; do begin $k -p --plan "$work/plan"; done
ended 0
all_there
# It only looks changed: the data is read, and nothing is sent again.
deliver_first 0 1 2
touch "$work"/dst/src/.udtx-*.part
begin 3 -p --plan "$work/plan"
ended 0
all_there

# --- an empty directory has the name of the file
rm -r "$work/dst/src"
mkdir -p "$work/dst/src/large"
for k in 0 1 2 3; do begin $k -p --plan "$work/plan"; done
ended 0
all_there

# --- pulled
mkdir "$work/fetched"
for k in 0 1 2 3; do
    "$recv" --shard $k/$n --plan "$work/plan" -p --psk-file "$work/psk" "udtx://127.0.0.1:${ports[$((k % 2))]}/src" \
        "$work/fetched/" >/dev/null 2>"$work/shard.$k" &
    shard[$k]=$!
done
ended 0
diff -r "$src" "$work/fetched/src" || fail "what was fetched differs"
[ -z "$(find "$work/fetched" -name '.udtx-*')" ] || fail "left behind where it was fetched"
expect 1 "$recv" --shard 0/$n -p --psk-file "$work/psk" "udtx://127.0.0.1:${ports[0]}/src" "$work/fetched/"
said '--shard needs --plan FILE to fetch'

# --- a quota counts a split file once, whichever shards fill it
mkdir "$work/narrow"
for name in server alice; do "$send" keygen --identity "$work/$name" 2>/dev/null; done
echo "quota=\"130M\" $(cat "$work/alice.pub") alice" >"$work/allowed"
start_recv narrow --dir "$work/narrow" --identity "$work/server" --authorized-keys "$work/allowed"
for k in 0 1 2 3; do
    "$send" --shard $k/$n --plan "$work/plan" -p --identity "$work/alice" --pin "$work/server.pub" "$src" \
        "udtx://127.0.0.1:$port/" >/dev/null 2>"$work/shard.$k" &
    shard[$k]=$!
done
ended 0
diff -r "$src" "$work/narrow/src" || fail "within a quota the tree differs"

# --- a receiver that keeps no state cannot combine parts, and reports that
mkdir "$work/nothing"
start_recv c --no-resume --dir "$work/nothing" --psk-file "$work/psk"
expect 23 "$send" --shard 1/$n --plan "$work/plan" --psk-file "$work/psk" "$src" "udtx://127.0.0.1:$port/"
said 'divided between shards.*--no-resume'
[ ! -e "$work/nothing/src/large" ] || fail "a part of a file has its name"
