# Two builds of the tools work together: each pushes to, pulls from, serves and resumes with the other, over UDP, TCP and
# ssh, with shards, and reads the other's receipts. They meet with a code, at the relay of either. matrix.sh TOOLS OTHER_TOOLS
set -euo pipefail
here=$1 there=$2
local_ssh=$(realpath "$(dirname "$0")/../support/local_ssh")
work=$(mktemp -d)
servers=()
cleanup() {
    for pid in "${servers[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
    rm -rf "$work"
}
trap cleanup EXIT
# Settings of the user who runs the tests must not affect them.
for name in $(compgen -e UDTX_ || true); do unset "$name"; done
export XDG_CONFIG_HOME=$work/no-settings XDG_STATE_HOME=$work/state
fail() {
    echo "FAILED: $*"
    tail -n 5 "$work"/*.log 2>/dev/null
    exit 1
}

mkdir -p "$work/src/deep/er"
for i in $(seq 1 40); do head -c $((i * 997)) /dev/urandom >"$work/src/deep/f$i"; done
head -c 40000000 /dev/urandom >"$work/src/big"
ln -s big "$work/src/link"
"$here/udtx-send" keygen "$work/key" 2>/dev/null
# wait_for_line FILE SCRIPT: what the sed script prints, once it prints something.
wait_for_line() {
    local _ found
    for _ in $(seq 200); do
        found=$(sed -n "$2" "$1")
        if [ -n "$found" ]; then echo "$found" && return 0; fi
        sleep 0.05
    done
    return 1
}
# serve TOOLS FLAGS...: a server of $work/dst; sets $url.
serve() {
    local tools=$1 log
    shift
    log=$(mktemp "$work/server.XXXX.log")
    "$tools/udtx-recv" --listen 127.0.0.1:0 --psk-file "$work/key" --allow-read --allow-delete "$@" >/dev/null 2>"$log" &
    server=$!
    servers+=("$server")
    disown "$server"  # bash reports no kill of it
    url=$(wait_for_line "$log" 's|.*listening on \([0-9.:]*\)/udp.*|udtx://\1/|p') || fail "the server does not listen"
}
# serve_relay TOOLS: sets $at.
serve_relay() {
    local log
    log=$(mktemp "$work/relay.XXXX.log")
    "$1/udtx-recv" --relay --listen 127.0.0.1:0 >/dev/null 2>"$log" &
    server=$!
    servers+=("$server")
    disown "$server"
    at=$(wait_for_line "$log" 's|.*listening on \([0-9.]*:[0-9]*\).*|\1|p') || fail "the relay does not listen"
}
# run WHAT TOOL WORDS...: one run of a tool, which must end with 0.
run() {
    local what=$1
    shift
    timeout 120 "$@" >"$work/run.log" 2>&1 || fail "$what: code $?: $*"
}
same() { diff -r --no-dereference "$work/src" "$1" >/dev/null || fail "$2: the trees differ"; }
fresh() { rm -rf "$work/dst" "$work/back" && mkdir "$work/dst" "$work/back"; }

both_ways() {  # CLIENT SERVER NAME
    local client=$1 other=$2 name=$3 way
    for way in udp tcp; do
        fresh
        serve "$other" --dir "$work/dst"
        run "$name push over $way" "$client/udtx-send" --transport $way --psk-file "$work/key" -a --receipt "$work/receipt" "$work/src" "$url"
        same "$work/dst/src" "$name push over $way"
        run "$name receipt" "$other/udtx-recv" verify "$work/receipt" "$work/dst"
        run "$name pull over $way" "$client/udtx-recv" --transport $way --psk-file "$work/key" -a "${url}src" "$work/back"
        same "$work/back/src" "$name pull over $way"
        kill "$server"
    done
    for way in udp ssh; do
        fresh
        run "$name push over ssh by $way" "$client/udtx-send" --transport $way --ssh "$local_ssh" --remote-bin "$other" -a "$work/src" "host:$work/dst/"
        same "$work/dst/src" "$name push over ssh by $way"
        run "$name pull over ssh by $way" "$client/udtx-recv" --transport $way --ssh "$local_ssh" --remote-bin "$other" -a "host:$work/dst/src" "$work/back"
        same "$work/back/src" "$name pull over ssh by $way"
    done
    # A receiver is killed in the middle, and the other version goes on with its journal.
    fresh
    serve "$client" --dir "$work/dst"
    local first=$server
    "$client/udtx-send" --psk-file "$work/key" -a --rate 80M --timeout 2 "$work/src" "$url" >/dev/null 2>&1 &
    local sender=$!
    sleep 2
    kill -9 "$first" "$sender"
    wait "$sender" 2>/dev/null || true  # also keeps bash from reporting the kill
    serve "$other" --dir "$work/dst"
    run "$name resume" "$client/udtx-send" --psk-file "$work/key" --json -a "$work/src" "$url"
    same "$work/dst/src" "$name resume"
    grep -Eq '"resumed_bytes": *[1-9]' "$work/run.log" || fail "$name resume: nothing was kept"
    kill "$server"
    # The shards of a job come from both versions.
    fresh
    serve "$other" --dir "$work/dst"
    "$client/udtx-send" plan -N 2 "$work/src" >"$work/plan" 2>/dev/null || fail "$name plan"
    run "$name shard 0" "$client/udtx-send" --psk-file "$work/key" -a --plan "$work/plan" --shard 0/2 --job 7 "$work/src" "$url"
    run "$name shard 1" "$other/udtx-send" --psk-file "$work/key" -a --plan "$work/plan" --shard 1/2 --job 7 "$work/src" "$url"
    same "$work/dst/src" "$name shards"
    kill "$server"
    # Two ends meet with a code.
    fresh
    serve_relay "$other"
    "$client/udtx-send" --code --rendezvous "$at" -a "$work/src" >/dev/null 2>"$work/offer.log" &
    local offers=$!
    servers+=("$offers")
    code=$(wait_for_line "$work/offer.log" 's/.* --code \([0-9a-z-]*\)$/\1/p') || fail "$name: no code"
    run "$name code" "$other/udtx-recv" --rendezvous "$at" --code "$code" "$work/dst"
    wait "$offers" || fail "$name code: the sender's exit code is $?"
    same "$work/dst/src" "$name code"
    kill "$server"
    echo "$name: push, pull, ssh, TCP, resume, shards, receipt, code"
}

both_ways "$here" "$there" "this to the other"
both_ways "$there" "$here" "the other to this"
