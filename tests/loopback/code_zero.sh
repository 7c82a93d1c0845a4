# The law of exit codes: with code 0, every byte that was asked for stands under its final name. diff and cmp decide
# that here, and not the tools. Any other code has a line at both ends that names the cause, also in JSON.
. "$(dirname "$0")/lib.sh"
make_key
src=$work/src
mkdir -p "$src/sub/empty" "$src/cache" "$work/void" "$work/to"
head -c 3000000 /dev/urandom >"$src/large"
for i in $(seq 30); do head -c $((i * 97)) /dev/urandom >"$src/sub/f$i"; done
: >"$src/none"
echo cached >"$src/cache/c"
ln -s large "$src/link"
truncate -s 3M "$src/sparse"
echo data | dd of="$src/sparse" bs=1 seek=2000000 conv=notrunc status=none
cp -a "$src" "$work/filtered"
rm -r "$work/filtered/cache" "$work/filtered/sub/f7"
filters=(--exclude cache/ --exclude /sub/f7)

# A far end on this machine: ssh that runs its command here.
printf '#!/usr/bin/env bash\nexec bash -c "${!#}"\n' >"$work/ssh"
chmod +x "$work/ssh"

# begin NAME WAY [FLAGS...] -- SOURCE...: starts a copy to $dst. WAY is push, pull, ssh-push or ssh-pull. The end that the user
# starts is NAME.near, the other one NAME.far; each has .err and .json. Over ssh both write to one terminal.
begin() {
    name=$1 way=$2 flags=() sources=()
    shift 2
    while [ "$1" != -- ]; do
        flags+=("$1")
        shift
    done
    shift
    dst=${into:-$work/to/$name}
    local source common=(--json --timeout 300)
    case $way in
        push)
            start_recv "$name.far" --one-off --json --dir "$work" "${far_flags[@]}" --psk-file "$work/psk"
            near=("$send" "${common[@]}" --psk-file "$work/psk" "${flags[@]}" "$@" "udtx://127.0.0.1:$port/${dst#"$work"/}/")
            ;;
        pull)
            start_recv "$name.far" --one-off --json --dir "$work" --allow-read "${far_flags[@]}" --psk-file "$work/psk"
            for source in "$@"; do sources+=("udtx://127.0.0.1:$port/${source#"$work"/}"); done
            near=("$near_recv" "${common[@]}" --psk-file "$work/psk" "${flags[@]}" "${sources[@]}" "$dst/")
            ;;
        ssh-push) near=("$send" "${common[@]}" --ssh "$work/ssh" --remote-bin "$recv" "${flags[@]}" "$@" "127.0.0.1:$dst/") ;;
        ssh-pull)
            for source in "$@"; do sources+=("127.0.0.1:$source"); done
            near=("$near_recv" "${common[@]}" --ssh "$work/ssh" --remote-bin "$send" "${flags[@]}" "${sources[@]}" "$dst/")
            ;;
    esac
    timeout -k 5 240 "${near[@]}" >"$work/$name.near.json" 2>"$work/$name.near.err" &
    near_pid=$!
    receivers+=("$near_pid")
}
# finish: sets $code and, if the far end has a process of its own, $far_code.
finish() {
    code=0 far_code=
    wait "$near_pid" || code=$?
    [[ $way != ssh-* ]] || return 0
    far_code=0
    over() { ! kill -0 "$receiver" 2>/dev/null; }
    until_true 60 over
    wait "$receiver" || far_code=$?
    cp "$work/$name.far.out" "$work/$name.far.json"
    cp "$work/$name.far.log" "$work/$name.far.err"
}
copy() {
    begin "$@"
    finish
}
ends() { echo near ${far_code:+far}; }
is() { [ "$(json_field "$work/$name.$1.json" "$2")" = "$3" ] || fail "$name, $1 end: $2 is $(json_field "$work/$name.$1.json" "$2"), not $3"; }

# delivered ORACLE...: both ends have code 0 and confirm it, and the command ORACLE agrees.
delivered() {
    local end
    [ "$code${far_code:-0}" = 00 ] || fail "$name: code $code, at the far end ${far_code:-none}: $(cat "$work/$name".*.err)"
    "$@" >"$work/differs" 2>&1 || fail "$name: code 0, and not so: $(head -n 5 "$work/differs")"
    for end in $(ends); do
        is $end exit_code 0
        is $end status '"ok"'
        is $end error null
        is $end failed_count 0
        is $end confirmed true
    done
    [ -z "$(find "$dst" -name '.udtx-*' 2>/dev/null)" ] || fail "$name: own files were left: $(find "$dst" -name '.udtx-*')"
}
# refused CODES CAUSE: both ends have a code that matches CODES, and say CAUSE in a line and in JSON.
refused() {
    local end own=$code
    for end in $(ends); do
        [[ $own =~ ^($1)$ ]] || fail "$name, $end end: code $own instead of $1: $(cat "$work/$name.$end.err")"
        grep -E -- "$2" "$work/$name.$end.err" >/dev/null || fail "$name, $end end: no line says '$2': $(cat "$work/$name.$end.err")"
        is $end exit_code "$own"
        [ "$(json_field "$work/$name.$end.json" error)" != null ] || fail "$name, $end end: no error in JSON"
        grep -E -- "$2" "$work/$name.$end.json" >/dev/null || fail "$name, $end end: JSON does not say '$2': $(cat "$work/$name.$end.json")"
        own=$far_code
    done
}
same() { diff -r --no-dereference "$1" "$dst"; }
near_recv=$recv
far_flags=()
ways="push pull ssh-push ssh-pull"

# --- a tree, a second run, an empty directory, filters
for way in $ways; do
    copy "tree-$way" "$way" -- "$src/"
    delivered same "$src"
    into=$dst copy "again-$way" "$way" -- "$src/"
    delivered same "$src"
    copy "filters-$way" "$way" "${filters[@]}" -- "$src/"
    delivered same "$work/filtered"
    mkdir -p "$work/to/void-$way"
    copy "void-$way" "$way" -- "$work/void/"
    delivered same "$work/void"
done

# --- --delete: without what the source lacks, but with what a filter protects
for way in push pull; do
    [ $way = pull ] || far_flags=(--allow-delete)
    cp -a "$work/void" "$work/to/delete-$way"
    mkdir "$work/to/delete-$way/stale" "$work/to/delete-$way/cache"
    echo stale | tee "$work/to/delete-$way/stale/x" "$work/to/delete-$way/cache/own" >"$work/to/delete-$way/none"
    copy "delete-$way" $way --delete "${filters[@]}" -- "$src/"
    mkdir -p "$work/filtered/cache"
    echo stale >"$work/filtered/cache/own"
    delivered same "$work/filtered"
    rm -r "$work/filtered/cache"
    far_flags=()
done
mkdir "$work/to/kept"
echo stale >"$work/to/kept/stale"
into=$work/to/kept copy kept push --delete -- "$src/"
refused 11 'delete is not allowed'
[ "$(ls "$work/to/kept")" = stale ] || fail "a refused deletion changed something"

# --- nothing is written by a dry run, which says so
for way in push pull; do
    mkdir "$work/to/dry-$way"
    echo old >"$work/to/dry-$way/none"
    copy "dry-$way" $way -n -- "$src/"
    delivered test "$(cd "$dst" && find . -type f -exec cat {} +)" = old
    for end in near far; do
        is $end dry_run true
        grep -q 'nothing was done' "$work/$name.$end.err" || fail "$name, $end end: no line says that nothing was done"
    done
done

# --- --overwrite never: what was skipped is named
for way in push pull; do
    mkdir "$work/to/never-$way"
    echo old >"$work/to/never-$way/none"
    copy "never-$way" $way --overwrite never -- "$src/"
    same_but_one() { [ "$(cat "$dst/none")" = old ] && diff -r --no-dereference --exclude none "$src" "$dst"; }
    delivered same_but_one
    for end in near far; do
        is $end skipped 1
        grep -q '1 existed and was not overwritten' "$work/$name.$end.err" || fail "$name, $end end: no line says what was skipped"
    done
done

# --- resume after either end was killed. The server goes on, as the same command needs the same port.
start_recv server --dir "$work" --allow-read --psk-file "$work/psk"
mkdir "$work/big"
head -c 30000000 /dev/urandom >"$work/big/large"
for way in push pull; do
    name=resume-$way dst=$work/to/resume-$way way=ssh-$way  # only the near end ends
    near=("$send" --json --psk-file "$work/psk" "$work/big/" "udtx://127.0.0.1:$port/to/$name/")
    [[ $way = *push ]] || near=("$recv" --json --psk-file "$work/psk" "udtx://127.0.0.1:$port/big/" "$dst/")
    "${near[@]}" --rate 100M >"$work/killed.out" 2>&1 &
    near_pid=$!
    receivers+=("$near_pid")
    begun() { [ -n "$(find "$dst" -name '.udtx-*.part' -size +8000k 2>/dev/null)" ]; }
    until_true 60 begun
    kill -KILL "$near_pid"
    wait "$near_pid" 2>/dev/null || true
    [ ! -e "$dst/large" ] || fail "$name: a file that is not complete has its name"
    "${near[@]}" >"$work/$name.near.json" 2>"$work/$name.near.err" &
    near_pid=$!
    finish
    delivered same "$work/big"
    [ "$(json_field "$work/$name.near.json" resumed_bytes)" -gt 0 ] || fail "$name: nothing was continued"
done

# --- interrupted
begin stopped push --rate 20M -- "$work/big/"
begun() { [ -n "$(find "$dst" -name '.udtx-*.part' -size +1000k 2>/dev/null)" ]; }
until_true 60 begun
kill -TERM "$near_pid"
finish
refused 130 'interrupted'

# --- a receipt agrees with what is there
copy receipt push --receipt "$work/receipt" -- "$src/"
delivered "$recv" verify "$work/receipt" "$dst"
echo other >"$dst/none"
expect 41 "$recv" verify "$work/receipt" "$dst"

# --- shards, of which each sends a part of one file
mkdir "$work/cut" "$work/to/shards"
head -c 50000000 /dev/urandom >"$work/cut/large"
cp "$src/sub/f3" "$work/cut/"
start_recv shards --dir "$work/to/shards" --psk-file "$work/psk"
shards=()
for k in 0 1 2; do
    "$send" --json --shard $k/3 --psk-file "$work/psk" "$work/cut/" "udtx://127.0.0.1:$port/" >"$work/shard$k.json" 2>"$work/shard$k.err" &
    shards+=($!)
    receivers+=($!)
done
for pid in "${shards[@]}"; do wait_for 0 "$pid"; done
dst=$work/to/shards name=shards
same "$work/cut" || fail "all shards have code 0, and not everything is there"
for k in 0 1 2; do [ "$(json_field "$work/shard$k.json" error)" = null ] || fail "shard $k: an error with code 0"; done
[ -z "$(find "$dst" -name '.udtx-*')" ] || fail "shards left something behind"

# --- streams: standard input to a file and to a pipe, a file to standard output
name=stream
start_recv stream.far --one-off --json --dir "$work" --psk-file "$work/psk"
expect 0 bash -c "'$send' --json --psk-file '$work/psk' - 'udtx://127.0.0.1:$port/to/stream' <'$src/large'"
wait_for 0 "$receiver"
cmp "$src/large" "$work/to/stream" || fail "standard input to a file: code 0, and not so"
start_recv pipe.far --one-off --psk-file "$work/psk" -
expect 0 bash -c "'$send' --psk-file '$work/psk' - 'udtx://127.0.0.1:$port' <'$src/large'"
wait_for 0 "$receiver"
cmp "$src/large" "$work/pipe.far.out" || fail "standard input to standard output: code 0, and not so"
start_recv out.far --one-off --allow-read --dir "$work" --psk-file "$work/psk"
expect 0 "$recv" --psk-file "$work/psk" "udtx://127.0.0.1:$port/src/large" -
wait_for 0 "$receiver"
cmp "$src/large" "$work/last.out" || fail "a file to standard output: code 0, and not so"

# --- a source that is missing, alone and among others
expect 11 "$send" --json --psk-file "$work/psk" "$work/nowhere" "udtx://127.0.0.1:$port/"  # it does not even connect
said nowhere
copy missing-pull pull -- "$work/nowhere"
refused 11 nowhere
for way in push pull; do
    copy "beside-$way" $way -- "$src" "$work/nowhere"
    refused 23 nowhere
    diff -r --no-dereference "$src" "$dst/src" || fail "$name: what is there was not delivered"
done

# --- something is in the way
for way in push pull; do
    mkdir -p "$work/to/way-$way/none/full"
    copy "way-$way" $way -- "$src/"
    refused 23 "a directory has the name of 'none'"
    diff -r --no-dereference --exclude none --exclude '.udtx-*' "$src" "$dst" || fail "$name: the rest was not delivered"
done

# --- a file that vanishes, and one that changes, while the tree is read. What was read before may arrive as it was.
mkdir "$work/moving"
for way in push pull; do
    for change in vanishes changes; do
        head -c 24000000 /dev/urandom >"$work/moving/a"
        echo last >"$work/moving/z"
        rm -rf "$work/before"
        cp -a "$work/moving" "$work/before"
        begin "$change-$way" $way --rate 60M -- "$work/moving/"
        begun() { [ -n "$(find "$dst" -name '.udtx-*.part' -size +1000k 2>/dev/null)" ]; }
        until_true 60 begun
        if [ $change = vanishes ]; then
            rm "$work/moving/z"
        else
            printf 'changed' | dd of="$work/moving/a" bs=1 conv=notrunc status=none
        fi
        finish
        as_at_one_moment() { same "$work/before" || same "$work/moving"; }
        if [ "$code" -eq 0 ]; then
            delivered as_at_one_moment
        elif [ $change = vanishes ]; then
            refused 23 "'z'"
            cmp "$work/moving/a" "$dst/a" || fail "$name: the other file was not delivered"
        else
            refused 23 "'a'"
            [ ! -e "$dst/a" ] || fail "$name: a mixture has its name"
        fi
    done
done

# --- a file that the sender may not read. Root runs the tool without its right to read everything.
echo secret >"$work/moving/secret"
echo last >"$work/moving/z"
chmod 000 "$work/moving/secret"
unable=()
cat "$work/moving/secret" >/dev/null 2>&1 && unable=(setpriv --inh-caps=-dac_override,-dac_read_search --bounding-set=-dac_override,-dac_read_search)
if "${unable[@]}" true 2>/dev/null; then
    for tool in send recv; do
        printf '#!/bin/sh\nexec %s "%s" "$@"\n' "${unable[*]}" "${!tool}" >"$work/unable-$tool"
        chmod +x "$work/unable-$tool"
    done
    send=$work/unable-send copy unreadable-push push -- "$work/moving/"
    refused 23 secret
    recv=$work/unable-recv copy unreadable-pull pull -- "$work/moving/"
    refused 23 secret
    [ ! -e "$dst/secret" ] && cmp "$work/moving/z" "$dst/z" || fail "the readable file was not delivered"
fi
chmod 600 "$work/moving/secret"

# --- a receiver that cannot write
if command -v strace >/dev/null && strace -qq -o /dev/null true 2>/dev/null && ! sanitized; then
    recv_meets pwrite64 ENOSPC
    near_recv=$recv
    for way in push pull; do
        [ $way = push ] || recv=$bin/udtx-recv
        copy "full-$way" $way -- "$src/"
        refused '11|23' 'No space left'
    done
fi
