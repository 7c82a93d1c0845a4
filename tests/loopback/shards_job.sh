# All shards of a job together: one rate over two servers, a server's report about all of them, and the summary at the
# end.
. "$(dirname "$0")/lib.sh"
make_key
src=$work/src
mkdir -p "$work/dst" "$src"
head -c 67108864 /dev/urandom >"$src/large"
for i in $(seq 20); do echo "$i" >"$src/$i"; done
start_recv a --allow-read --metrics 0 --dir "$work/dst" --psk-file "$work/psk"
servers=127.0.0.1:$port
metrics=$(sed -nE 's|.*metrics on http://127.0.0.1:([0-9]+)/metrics.*|\1|p' "$work/a.log")
start_recv b --allow-read --dir "$work/dst" --psk-file "$work/psk"
servers+=,127.0.0.1:$port
n=4
begin() {
    local k=$1
    shift
    "$send" --shard "$k/$n" --servers "$servers" --psk-file "$work/psk" "$@" "$src" udtx://nowhere.invalid/to \
        >"$work/shard.$k.out" 2>"$work/shard.$k" &
    shard[$k]=$!
    receivers+=($!)
}
ended() {
    local k
    for k in "${!shard[@]}"; do wait "${shard[$k]}" || fail "shard $k ended with $?: $(cat "$work/shard.$k")"; done
}
declare -A shard

# --- 67 MB at 45 Mbit/s take twelve seconds, however the shards share the rate
began=$(date +%s%N)
for k in 0 1 2 3; do begin $k --job-rate 45M; done
running() { "$recv" ctl --json 2>/dev/null | grep -q '"job":{"name":"[0-9a-f]*","shard":[0-3],"shards":4,"running":4'; }
until_true 30 running
measured() {
    exec 8<>"/dev/tcp/127.0.0.1/$metrics"
    printf 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n' >&8
    sed '1,/^\r*$/d' <&8 >"$work/metrics"
    exec 8>&-
    grep -q 'udtx_job_shards{job="[0-9a-f]\{16\}",state="running"} 4' "$work/metrics"
}
until_true 10 measured
check_metrics "$work/metrics"
ended
took=$((($(date +%s%N) - began) / 1000000))
[ "$took" -ge 11000 ] || fail "the shards exceeded the rate of their job: $took ms"
diff -r "$src" "$work/dst/to/src" || fail "the tree differs"
[ -z "$(find "$work/dst" -name '.udtx-*')" ] || fail "left behind: $(find "$work/dst" -name '.udtx-*')"
# The summary of the job appears once, on the server of the last shard.
[ "$(cat "$work/a.log" "$work/b.log" | grep -c 'job [0-9a-f]*: 4 of 4 shards done, 24 files and parts, 67.1 MB')" -eq 1 ] ||
    fail "the account: $(cat "$work/a.log" "$work/b.log")"
# Shard K used the server with the number K mod 2.
[ "$(grep -c 'from 127.0.0.1:[0-9]*: ' "$work/a.log")" -eq 2 ] || fail "server a had other shards: $(cat "$work/a.log")"

# --- pulled, from two servers into one place
expect 0 "$send" plan -N $n "$work/dst/to/src"
cp "$work/last.out" "$work/plan"
mkdir "$work/fetched"
for k in 0 1 2 3; do
    "$recv" --shard $k/$n --plan "$work/plan" --servers "$servers" --job-rate 100M --psk-file "$work/psk" \
        udtx://nowhere.invalid/to/src "$work/fetched/" >/dev/null 2>"$work/shard.$k" &
    shard[$k]=$!
done
ended
diff -r "$src" "$work/fetched/src" || fail "what was fetched differs"

# --- two servers that do not share their storage: together the shards have delivered everything, and no server has it
mkdir "$work/other"
start_recv other --allow-read --dir "$work/other" --psk-file "$work/psk"
first=${servers%%,*}
to() { printf '%s\n' --psk-file "$work/psk" --json "$src" "udtx://127.0.0.1:$1/apart/"; }
mapfile -t here < <(to "${first##*:}")
mapfile -t there < <(to "$port")
for k in 0 1; do expect 0 "$send" --shard $k/$n "${here[@]}"; done
expect 0 "$send" --shard 2/$n "${there[@]}"
expect 11 "$send" --shard 3/$n "${there[@]}"
said 'shards 0, 1 delivered to another directory'
expect 0 "$send" --shard 2/$n "${here[@]}"
expect 0 "$send" --shard 3/$n "${here[@]}"
grep -q '"complete":true' "$work/last.out" || fail "the job is $(cat "$work/last.out")"
diff -r "$src" "$work/dst/apart/src" || fail "the tree differs"
# A shard that runs again finds what it delivered, and leaves nothing that waits for the others.
expect 0 "$send" --shard 2/$n "${here[@]}"
grep -q '"complete":true' "$work/last.out" || fail "the job is $(cat "$work/last.out")"
[ -z "$(find "$work/dst/apart" -name '.udtx-*')" ] || fail "a shard that had nothing to do leaves a job"

# --- the destination goes back to a snapshot between two shards
back() { expect "$1" "$send" --shard "$2/$n" --psk-file "$work/psk" "$src/" "udtx://$first/back/"; }
for k in 0 1; do back 0 $k; done
cp -a "$work/dst/back" "$work/snapshot"
back 0 2
rm -r "$work/dst/back"
mv "$work/snapshot" "$work/dst/back"
back 11 3
said 'its receiver knows of only 3 of 4: the destination went back to an earlier state'
for k in 0 1 2 3; do back 0 $k; done
diff -r "$src" "$work/dst/back" || fail "the tree differs"

# --- without a record of the job, only receipts can tell
for state in /proc/none "$work/psk"; do
    XDG_STATE_HOME=$state expect 11 "$send" --shard 0/$n "${here[@]}"
    said 'cannot make the record of this job.*set XDG_STATE_HOME .*--receipt'
    XDG_STATE_HOME=$state expect 0 "$send" --shard 0/$n --receipt "$work/receipt.0" "${here[@]}"
done
HOME=$work/nobody XDG_STATE_HOME='' expect 11 "$send" --shard 0/$n "${here[@]}"
said 'cannot make the record of this job'
[ ! -e "$work/nobody" ] || fail "a home was made"
rm -rf "$work/dst/apart"
expect 0 "$recv" clean --jobs "$work/dst"

# --- refused runs
mkdir "$work/nothing"
start_recv c --no-resume --dir "$work/nothing" --psk-file "$work/psk"
expect 11 "$send" --shard 0/$n --job-rate 1M --psk-file "$work/psk" "$src" "udtx://127.0.0.1:$port/"
said 'the receiver keeps nothing for other shards'
for wrong in "--job-rate 1M" "--servers a,b" "--shard 0/2 --job-rate 0" "--shard 0/2 --job-rate x" \
    "--shard 0/2 --servers a,,b" "--shard 0/2 --servers a/b" "--shard 0/2 --servers a:0"; do
    # shellcheck disable=SC2086
    expect 1 "$send" $wrong --psk-file "$work/psk" "$src" "udtx://127.0.0.1:$port/"
done
expect 1 "$send" --shard 0/2 --servers a,b "$src" host:to/
said 'udtx://HOST'
