# Entries that the sender has and does not send protect their names under --delete, as with rsync: unsupported kinds,
# links by the rules, excluded entries. This holds in both directions, and a dry run reports the same.
. "$(dirname "$0")/lib.sh"
make_key
src=$work/src
mkdir -p "$src/sub" "$src/no"
for f in f sub/g no/below; do echo "$f" >"$src/$f"; done
for q in q sub/q qd; do mkfifo "$src/$q"; done
ln -s f "$src/inside"
ln -s /etc "$src/outside"
ln -s ../f "$src/sub/inside"
start_recv r --allow-delete --allow-read --dir "$work" --psk-file "$work/psk"
url=udtx://127.0.0.1:$port
# The receiver has another entry under each of these names, and beside them entries that the sender does not have.
others() {
    mkdir -p "$work/$1/sub" "$work/$1/no" "$work/$1/qd/deep"
    for f in q inside outside sub/q sub/inside sub/stale no/theirs stale qd/deep/x; do echo theirs >"$work/$1/$f"; done
}
there() { (cd "$work/$1" && find . -type f -o -type l | LC_ALL=C sort | tr '\n' ' '); }
check() {  # check WANTED DESTINATION
    [ "$(there "$2")" = "$1" ] || fail "$2 has $(there "$2")instead of $1"
}
all='./f ./inside ./no/below ./no/theirs ./outside ./q ./qd/deep/x ./sub/g ./sub/inside ./sub/q '
for way in push pull; do
    run() {
        if [ $way = push ]; then
            expect 0 "$send" --psk-file "$work/psk" "${@:2}" "$src/" "$url/$1"
        else
            expect 0 "$recv" --psk-file "$work/psk" "${@:2}" "$url/src/" "$work/$1"
        fi
    }
    to=$way.none
    others $to
    run $to -n --delete --no-links
    [ "$(sed -n 's/^\*deleting *//p' "$work/last.out" | LC_ALL=C sort | tr '\n' ' ')" = "no/theirs stale sub/stale " ] ||
        fail "the dry run lists $(cat "$work/last.out")"
    run $to --delete --no-links
    check "${all/ .\/no\/theirs/}" $to
    [ "$(cat "$work/$to/inside")" = theirs ] || fail "a name of a link that is left out was replaced"
    to=$way.safe
    others $to
    run $to --delete --safe-links --exclude no
    check "${all/ .\/no\/below/}" $to
    [ "$(cat "$work/$to/outside")" = theirs ] && [ -L "$work/$to/inside" ] || fail "links that lead out"
    [ ! -e "$work/$to/stale" ] && [ ! -e "$work/$to/sub/stale" ] || fail "what is stale stays"
done
# A source without anything to send deletes nothing.
mkdir "$work/only"
mkfifo "$work/only/q"
others only.to
expect 11 "$send" --psk-file "$work/psk" --delete "$work/only/" "$url/only.to"
said "the sources are empty"
[ -e "$work/only.to/stale" ] || fail "a source without files emptied the destination"
