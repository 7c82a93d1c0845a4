# What a run measured of its path is kept for the next one: by the key of the peer and the addresses, in a file that
# may be lost or damaged.
. "$(dirname "$0")/lib.sh"
paths=$XDG_STATE_HOME/udtx/paths
for name in alice bob carol; do "$send" keygen --identity "$work/$name" 2>/dev/null; done
mkdir "$work/dst" "$work/dst2"
head -c 8000000 /dev/urandom >"$work/file"
start_recv bob --dir "$work/dst" --identity "$work/bob" --authorized-keys "$work/alice.pub"
bob=$port
start_recv carol --dir "$work/dst2" --identity "$work/carol" --authorized-keys "$work/alice.pub"
carol=$port
# push TO PORT: a fresh copy each time. With a cap the transfer lasts long enough to measure the path.
push() {
    rm -rf "$work"/dst/* "$work"/dst2/*
    expect 0 "$send" -v --rate 100M --identity "$work/alice" --pin "$work/$1.pub" "$work/file" "udtx://127.0.0.1:$2/"
}
lines_of() { grep -c "^$(cut -d' ' -f1-2 "$work/$1.pub") 127.0.0.1 127.0.0.1 " "$paths" || true; }

push bob "$bob"
never_said "of earlier runs"
[ "$(stat -c %a "$paths")" = 600 ] || fail "mode of $paths"
[ "$(head -n 1 "$paths")" = "udtx-paths 1" ] || fail "form of $paths"
[ "$(lines_of bob)" = 1 ] || fail "the path is not in $paths"
# The cap bounds what was delivered: 12.5 MB/s.
rate=$(sed -n 2p "$paths" | cut -d' ' -f5)
[ "$rate" -gt 1000000 ] && [ "$rate" -lt 20000000 ] || fail "a path of $rate bytes/s"
cp "$paths" "$work/first"

push bob "$bob"
said "knows 1 path of earlier runs"
[ "$(lines_of bob)" = 1 ] || fail "not one line for one path"
! cmp -s "$paths" "$work/first" || fail "the second run kept nothing"

push carol "$carol"
[ "$(lines_of bob)" = 1 ] && [ "$(lines_of carol)" = 1 ] || fail "not one path for each peer"

# --- damage costs nothing
echo "not ours" >"$paths"
push bob "$bob"
said "cannot read the known paths"
[ "$(lines_of bob)" = 1 ] || fail "a damaged file was not replaced"
chmod 666 "$paths"
push bob "$bob"
said "cannot read the known paths"
[ "$(stat -c %a "$paths")" = 600 ] || fail "mode of the new $paths"
rm -rf "$paths"
mkdir -p "$paths"
push bob "$bob"
[ -d "$paths" ] && [ "$(ls -A "$XDG_STATE_HOME/udtx")" = paths ] || fail "something is left in $XDG_STATE_HOME/udtx"

# --- several at once lose nothing worse than an entry
rm -rf "$paths"
rm -rf "$work"/dst/* "$work"/dst2/*
jobs=()
for n in 1 2 3 4; do
    cp "$work/file" "$work/file$n"
    "$send" -q --rate 50M --identity "$work/alice" --pin "$work/bob.pub" "$work/file$n" "udtx://127.0.0.1:$bob/" \
        2>"$work/at-once-$n.log" &
    jobs+=("$!")
done
for job in "${jobs[@]}"; do wait "$job" || fail "a sender failed beside others"; done
[ "$(lines_of bob)" = 1 ] && [ "$(wc -l <"$paths")" = 2 ] || fail "damaged by several senders"
[ "$(ls -A "$XDG_STATE_HOME/udtx")" = paths ] || fail "something is left in $XDG_STATE_HOME/udtx"

# --- a shared key tells no peer apart, so nothing is kept
make_key
start_recv shared --dir "$work/dst" --psk-file "$work/psk"
rm -rf "$paths" "$work"/dst/*
expect 0 "$send" --rate 100M --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/"
[ ! -e "$paths" ] || fail "a path to a peer without a key of its own was kept"
