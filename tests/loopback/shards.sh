# Several processes send one tree at once. Each file arrives once, whatever is killed and run again, pushed and pulled,
# from a server and over ssh. Runs that would lose or duplicate files are refused.
. "$(dirname "$0")/lib.sh"
make_key
array=$(cd "$(dirname "$0")/../../packaging/fleet" && pwd)/slurm-array.sh
src=$work/src
mkdir -p "$work/dst" "$src/only" "$src/read only" "$src/a/b" "$src/empty/deep"
for i in $(seq 300); do head -c $((i * 97 % 30000)) /dev/urandom >"$src/a/$i"; done
for i in $(seq 12); do head -c 2000000 /dev/urandom >"$src/a/b/large.$i"; done
for i in $(seq 40); do echo "$i" >"$src/read only/$i"; done
echo x >"$src/a.txt"
printf 'a name' >"$src/a"$'\t'"b"
ln -s a/1 "$src/link"
ln "$src/a/1" "$src/a/2nd"
touch -d 2001-02-03 "$src/only" "$src/a/b"
start_recv r --allow-delete --allow-read --dir "$work/dst" --psk-file "$work/psk"
url=udtx://127.0.0.1:$port
n=5
plan=$work/plan

# shard K: runs in the background and replaces its shell. All shards have to end with code 0.
shard() { exec "${tool[@]}" --shard "$1/$n" --plan "$plan" "${arguments[@]}" >"$work/shard.$1.out" 2>"$work/shard.$1"; }
begin_all() {
    shards=()
    for k in $(seq 0 $((n - 1))); do
        shard "$k" &
        shards+=($!)
    done
}
end_all() {
    local k=0 pid
    for pid in "${shards[@]}"; do
        wait "$pid" || fail "$1: shard $k ended with $?: $(cat "$work/shard.$k")"
        k=$((k + 1))
    done
}
nothing_left() {
    local left
    left=$(find "$1" -name '.udtx-*')
    [ -z "$left" ] || fail "left behind: $left"
}
same_as_source() {
    diff -r --no-dereference "$src" "$1" || fail "$2: the tree differs"
    (cd "$src" && find . -type d -printf '%p %m %Ts\n' | LC_ALL=C sort) >"$work/left"
    (cd "$1" && find . -type d -printf '%p %m %Ts\n' | LC_ALL=C sort) | diff "$work/left" - || fail "$2: directories differ"
}

# --- a plan: its lines assign the files, and one line reports the balance
expect 0 "$send" plan -N $n "$src"
cp "$work/last.out" "$plan"
said "355 files, .*, in 5 shards of "
[ "$(head -n 1 "$plan")" = "udtx-plan 2 $n" ] && [ "$(tail -n 1 "$plan")" = end ] || fail "the plan is $(cat "$plan")"
expect 0 "$send" plan -N 1 "$src/"
expect 11 "$send" plan -N 2 "$work/missing"
said missing
for wrong in "-N 0 $src" "-N 4097 $src" "-N x $src" "$src" "-N 2"; do expect 1 "$send" plan $wrong; done

# --- all at once, with directories as in the source; one shard killed and run again, and then all again
chmod 555 "$src/read only"
tool=("$send" -a --psk-file "$work/psk")
arguments=("$src" "$url/pushed")
begin_all
end_all pushed
same_as_source "$work/dst/pushed/src" pushed
nothing_left "$work/dst"
begin_all
end_all again
grep -q ' 0 B' "$work/shard.1" || fail "a shard run again sends data: $(cat "$work/shard.1")"

tool=("$send" -a --psk-file "$work/psk" --rate 8M)
arguments=("$src" "$url/killed")
begin_all
until_true 120 proven "$work/dst/killed"
kill -KILL "${shards[@]}" 2>/dev/null || true
for pid in "${shards[@]}"; do wait "$pid" 2>/dev/null || true; done
tool=("$send" -a --psk-file "$work/psk" --json)
# As from another host: another directory, and another path to the sources.
arguments=("../src/../src" "$url/killed")
cd "$work/dst"
begin_all
end_all "killed, run again"
cd "$work"
same_as_source "$work/dst/killed/src" killed
nothing_left "$work/dst"
kept=0
for k in $(seq 0 $((n - 1))); do kept=$((kept + $(json_field "$work/shard.$k.out" resumed_bytes))); done
[ "$kept" -gt 0 ] || fail "the shards continued nothing"

# --- the same shard twice at once: the newer run continues, the older one ends with its own code
tool=("$send" -a --psk-file "$work/psk" --rate 10M)
arguments=("$src" "$url/twice")
shard 3 &
older=$!
begun() { [ -n "$(find "$work/dst/twice" -name '.udtx-*' 2>/dev/null)" ]; }
until_true 60 begun
tool=("$send" -a --psk-file "$work/psk")
# A run that the job refuses does not end the older one.
sed -n '/^selection/,/^end/p' "$plan" | sed 's/^content \([0-9]*\)/content 1\1/' >"$work/counts"
{ head -n $n "$plan"; cat "$work/counts"; } >"$work/other-plan"
expect 11 "${tool[@]}" --shard 3/$n --plan "$work/other-plan" "${arguments[@]}"
said "its shards have different plans"
kill -0 "$older" 2>/dev/null || fail "a shard that was refused has ended the run that was under way: $(cat "$work/shard.3")"
expect 0 "${tool[@]}" --shard 3/$n --plan "$plan" "${arguments[@]}"
wait_for 13 "$older"
grep -q "newer run" "$work/shard.3" || fail "the older run says: $(cat "$work/shard.3")"
# The last shard removes the files that the shards share.
begin_all
end_all "the others"
nothing_left "$work/dst"

# --- the receipts of all shards merge to the receipt of the whole, byte for byte
for k in $(seq 0 $((n - 1))); do
    expect 0 "$send" --psk-file "$work/psk" --receipt "$work/receipt.$k" --shard $k/$n --plan "$plan" "$src" "$url/noted"
done
expect 0 "$send" --psk-file "$work/psk" --receipt "$work/receipt.whole" "$src" "$url/noted-whole"
expect 0 "$recv" receipt merge "$work/of.shards" "$work"/receipt.[0-9]
said "5 receipts: 355 files"
expect 0 "$recv" receipt merge "$work/of.whole" "$work/receipt.whole"
cmp "$work/of.shards" "$work/of.whole" || fail "shards and one run have different receipts"
expect 0 "$recv" verify "$work/of.shards" "$work/dst/noted"
# In another order; with one missing, and one twice.
expect 0 "$recv" receipt merge "$work/again" "$work"/receipt.{3,4,1,0,2}
cmp "$work/again" "$work/of.shards" || fail "the order of the receipts matters"
expect 41 "$recv" receipt merge "$work/again" "$work"/receipt.{4,1,0,2}
said "the receipt of shard 3/5 is missing"
expect 41 "$recv" receipt merge "$work/again" "$work/receipt.1" "$work/receipt.1"
said "are both of shard 1/5"
head -c 1000 "$work/receipt.1" >"$work/short"
expect 41 "$recv" receipt merge "$work/again" "$work/receipt.0" "$work/short"
said "short: the receipt cannot be trusted"
expect 11 "$recv" receipt merge "$work/again" "$work/receipt.0" "$work/missing"
expect 11 "$recv" receipt merge "$work/no/dir" "$work"/receipt.[0-9]
said "cannot write"
for wrong in "" merge "merge x" "split x y"; do expect 1 "$recv" receipt $wrong; done
cmp "$work/again" "$work/of.shards" || fail "a merge that was refused has changed what stood there"

# --- a receipt for all: each task of an array has its own, and the last one merges them
array() { # array ID K
    SLURM_ARRAY_JOB_ID=$1 SLURM_ARRAY_TASK_ID=$2 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_MAX=$((n - 1)) \
        SLURM_ARRAY_TASK_COUNT=$n PATH=$bin:$PATH expect 0 sh "$array" \
        "$plan" --psk-file "$work/psk" --receipt "$work/array" "$src" "$url/array"
}
for k in 3 0 2 1; do
    array 77 $k
    [ ! -e "$work/array" ] || fail "four of five receipts were merged"
done
array 77 4
cmp "$work/of.shards" "$work/array" || fail "the receipts of an array do not merge to that of the whole"
# Another array, after the destination was removed: its receipts do not merge with the older ones.
rm -r "$work/dst/array"
array 78 1
[ ! -e "$work/array" ] || fail "a receipt of what is gone is left"

# --- a tree that has changed since the plan: new files belong to one shard, which sends them and fails
mkdir "$src/new"
for i in 1 2 3; do echo "$i" >"$src/new/$i"; done
echo new >"$src/a/b/zz"
tool=("$send" -a --psk-file "$work/psk")
expect 0 "$send" plan -N $n "$src/"
cp "$work/last.out" "$plan"
rm "$src/a/b/zz"
arguments=("$src/" "$url/changed")
begin_all
failed=
for k in $(seq 0 $((n - 1))); do
    code=0
    wait "${shards[k]}" || code=$?
    [ $code -eq 0 ] || failed+=" $k=$code"
    [ $code -eq 0 ] || grep -q 'the plan has .* for this shard, but the sources have .*new plan' "$work/shard.$k" ||
        fail "shard $k says: $(cat "$work/shard.$k")"
done
[[ $failed =~ ^\ [0-4]=23$ ]] || fail "not one shard failed with 23:$failed"
diff -r -x '.udtx-*' --no-dereference "$src" "$work/dst/changed" || fail "a shard that differs from the plan sends less"
echo new >"$src/a/b/zz"
begin_all
end_all changed
same_as_source "$work/dst/changed" changed

# --- other filters than those of the plan
expect 1 "$send" --psk-file "$work/psk" --shard 0/$n --plan "$plan" --exclude '*.1' "$src/" "$url/filtered"
said "made with other filters or names: give udtx-send plan the same"
expect 0 "$send" plan -N $n --exclude '*.1' --no-links "$src/"
mv "$plan" "$plan.all"
cp "$work/last.out" "$plan"
tool=("$send" -a --psk-file "$work/psk" --exclude '*.1' --no-links)
arguments=("$src/" "$url/filtered")
begin_all
end_all filtered
[ ! -e "$work/dst/filtered/a/b/large.1" ] && [ -e "$work/dst/filtered/a/b/large.2" ] || fail "the filters of a plan"
mv "$plan.all" "$plan"

# --- pulled
chmod 755 "$work/dst/pushed/src/read only"
tool=("$recv" -a --psk-file "$work/psk" --job nightly)
arguments=("$url/changed/" "$work/fetched/")
expect 0 "$send" plan -N $n "$src/"
cp "$work/last.out" "$plan"
begin_all
end_all fetched
same_as_source "$work/fetched" fetched
# The server does not have what the plan says.
mv "$work/dst/changed/a/b" "$work/away"
code=0
for k in $(seq 0 $((n - 1))); do
    "${tool[@]}" --shard "$k/$n" --plan "$plan" "$url/changed/" "$work/fetched.less/" 2>>"$work/less" || code=$?
done
mv "$work/away" "$work/dst/changed/a/b"
[ "$code" -eq 23 ] || fail "a fetch of less than the plan has ended with $code: $(cat "$work/less")"
grep -q 'sender: the plan has .* for this shard, but the sources have' "$work/less" || fail "it says: $(cat "$work/less")"
rm -r "$work/fetched.less"
nothing_left "$work/fetched"

# --- refused runs, and the remedy in the message
to=(--psk-file "$work/psk" "$src" "$url/refused")
says() { # says TEXT ARGS...
    local text=$1
    shift
    expect 1 "$send" "$@" "${to[@]}"
    said "$text"
}
says "for 5 shards, not 6" --shard 5/6 --plan "$plan"
says "K from 0 to N - 1" --shard 5/5 --plan "$plan"
says "no engine has started this process" --shard auto --plan "$plan"
says "K from 0 to N - 1" --shard 1 --plan "$plan"
says "--delete and --shard" --shard 0/$n --plan "$plan" --delete
says "--plan needs --shard" --plan "$plan"
says "--job needs --shard" --job x
says "make it again" --shard 0/$n --plan "$src/a.txt"
head -c 20 "$plan" >"$work/cut"
says "it is incomplete" --shard 0/$n --plan "$work/cut"
says "cannot read" --shard 0/$n --plan "$work/none"
expect 1 "$send" --psk-file "$work/psk" --shard 0/$n --plan "$plan" - "$url/x" </dev/null
said "for trees"
expect 1 "$recv" --shard 0/$n --plan "$plan" --one-off --listen 127.0.0.1:0 --dir "$work/dst" --psk-file "$work/psk"
said "--shard is for fetching"
expect 1 "$recv" --psk-file "$work/psk" --shard 0/$n --plan "$plan" "$url/changed" "$work/nowhere"
said "ends in '/'"
expect 1 "$send" --shard 0/$n --plan "$plan" "$src" host:somewhere
said "ends in '/'"
[ ! -e "$work/dst/refused" ] || fail "something was sent all the same"
chmod -R u+w "$src" "$work/dst"
