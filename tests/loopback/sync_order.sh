# The order of writes, syncs and renames of a receiver, as strace sees it: data before its name, names before the end,
# pieces before the journal. powercut_sweep shows the effect on disks; this test needs no root and takes seconds.
. "$(dirname "$0")/lib.sh"
need_strace
command -v python3 >/dev/null || skip "no python3"
make_key
honest=$recv
here=$(dirname "$0")

# traced NAME DESTINATION SOURCE...: a receiver for one transfer to DESTINATION below $work/NAME; its calls in NAME.calls.log.
traced() {
    local name=$1 destination=$2
    shift 2
    mkdir -p "$work/$name"
    printf '#!/bin/sh\nexec strace -D -f -q -y -o "%s" -e trace=%s "%s" "$@"\n' "$work/$name.calls.log" \
        "write,pwrite64,pwritev,copy_file_range,ftruncate,fdatasync,fsync,sync,syncfs,rename,renameat,renameat2,linkat,mkdirat,unlinkat" "$honest" >"$work/recv"
    chmod +x "$work/recv"
    recv=$work/recv start_recv "$name" --one-off --dir "$work/$name" --psk-file "$work/psk"
    expect 0 "$send" --psk-file "$work/psk" "$@" "udtx://127.0.0.1:$port/$destination"
    wait_for 0 "$receiver"
    # strace may write its last lines after its program has ended.
    until_true 60 grep -qE '^[0-9]+ +\+\+\+ exited with 0 \+\+\+$' "$work/$name.calls.log"
    PYTHONDONTWRITEBYTECODE=1 python3 "$here/sync_order.py" "$work/$name.calls.log" "$work/$name" || fail "$name: the order is wrong"
}

# Few files, each synced by itself, below a directory that the receiver makes.
mkdir -p "$work/tree/sub"
for i in 1 2 3; do echo "$i" | tee "$work/tree/f$i" >"$work/tree/sub/f$i"; done
traced few made/deep/ "$work/tree/"
diff -r "$work/tree" "$work/few/made/deep" || fail "not the same"

# More than are synced one by one: the rest is closed early and synced together.
mkdir "$work/src"
for i in $(seq 200); do echo "$i" >"$work/src/f$i"; done
traced many '' "$work/src/"
diff -r "$work/src" "$work/many" || fail "not the same"

# A large file, whose pieces enter the journal as they are synced.
mkdir "$work/large"
head -c 40000000 /dev/urandom >"$work/large/f"
traced big '' "$work/large/"
cmp "$work/large/f" "$work/big/f" || fail "not the same"

# Two shards, each served by a receiver of its own. The one that has the end of the file comes first: the journal syncs
# whole blocks of 8 MiB, and its part has more.
for shard in 1 0; do traced shards '' --shard $shard/2 "$work/large/f"; done
cmp "$work/large/f" "$work/shards/f" || fail "not the same"

# A sync that fails is a failure, of each file that it covers.
for call in syncfs fdatasync; do
    mkdir "$work/$call"
    recv_meets "$call" EIO
    start_recv "$call" --dir "$work/$call" --psk-file "$work/psk"
    recv=$honest
    got=0
    timeout 120 "$send" --json --psk-file "$work/psk" "$work/src/" "udtx://127.0.0.1:$port/" >"$work/last.out" 2>"$work/last.err" || got=$?
    [ "$got" -ne 0 ] || fail "$call fails, and the code is 0"
    files=$(json_field "$work/last.out" files)
    [ "$(find "$work/$call" -type f -name 'f*' | wc -l)" -eq "$files" ] || fail "$call: $files files are confirmed, others stand"
done

# So is that of a part, also if it is too small for a sync while it arrives. Shard 0 tells the name of the file.
head -c 9000000 /dev/urandom >"$work/cut"
mkdir "$work/parts"
part_of() { # part_of SHARD: sends that part to a new receiver; its code goes to $got
    recv=${2:-$honest} start_recv "part.$1.$last" --one-off --dir "$work/parts" --psk-file "$work/psk"
    got=0
    timeout 60 "$send" --job "last.$last" --shard "$1/2" --psk-file "$work/psk" "$work/cut" "udtx://127.0.0.1:$port/" \
        >"$work/last.out" 2>"$work/last.err" || got=$?
}
for last in yes no; do # the failing part completes the file, or is the first one
    part_of 0
    part=$(find "$work/parts" -name '*.part')
    [ $got -eq 0 ] && [ -n "$part" ] || fail "code $got, and the file is not cut: $(ls -A "$work/parts")"
    [ $last = yes ] || expect 0 "$recv" clean --jobs "$work/parts"
    printf '#!/bin/sh\nexec strace -D -f -qq -o /dev/null -P "%s" -e trace=fdatasync -e inject=fdatasync:error=EIO "%s" "$@"\n' \
        "$part" "$honest" >"$work/recv"
    part_of 1 "$work/recv"
    [ "$got" -ne 0 ] || fail "a part whose sync failed is confirmed (last: $last)"
    said 'Input/output error'
    [ ! -e "$work/parts/cut" ] || fail "a file with such a part has its name"
    expect 0 "$recv" clean --jobs "$work/parts"
done
