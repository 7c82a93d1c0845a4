# A dry run lists each action and its reason in rsync's letters: as lines, in the JSON object, and as a stream of
# objects.
. "$(dirname "$0")/lib.sh"
make_key
src=$work/src
mkdir -p "$src/old" "$work/dst"
for f in same longer later mode old/inside; do printf 'content of %s' "$f" >"$src/$f"; done
printf 'one' >"$src/rot"
ln -s same "$src/link"
ln -s same "$src/led"
ln "$src/same" "$src/twin"
start_recv r --allow-delete --allow-read --dir "$work/dst" --psk-file "$work/psk"
url=udtx://127.0.0.1:$port
expect 0 "$send" -a --psk-file "$work/psk" "$src/" "$url/t"
to=$work/dst/t
mkdir "$src/new"
printf 'more content of it' >"$src/longer"
touch -d '2001-02-03' "$src/later"
chmod 600 "$src/mode"
chmod 700 "$src/old"
printf 'x' >"$src/new/file"
touch -r "$to/rot" "$work/time"
printf 'two' >"$src/rot"
touch -r "$work/time" "$src/rot"
ln -sf longer "$src/led"
printf 'theirs' >"$to/extra"
mkdir -p "$to/gone/deep"
attributes=
if setfattr -n user.name -v value "$src/old/inside" 2>/dev/null && setfattr -n user.t "$to/same" 2>/dev/null; then
    setfattr -x user.t "$to/same"
    attributes=x
fi
owner=.
group=.
if [ "$(id -u)" -eq 0 ] && chown 1234:2345 "$src/mode" 2>/dev/null; then owner=o group=g; fi
cp -a "$work/dst" "$work/before"

lists() { sed -E 's/ (twin|same)( => (twin|same))?$/ NAME/' "$work/last.out" | LC_ALL=C sort | grep -v '^\.d\.\.t' >"$work/is" || true
    LC_ALL=C sort >"$work/right"
    diff "$work/right" "$work/is" || fail "the dry run does not list what it should"; }
lines() {  # Y: < or >
    cat <<END
$1f.s....... longer
.f..t...... later
.f...p$owner$group... mode
.d...p..... old/
cd+++++++++ new/
$1f+++++++++ new/file
cLc........ led -> longer
*deleting   extra
*deleting   gone/
*deleting   gone/deep/
END
    [ -z "$attributes" ] || echo '.f........x old/inside'
}
# On a coarse clock, a file that was written may have the same time as before.
touch -r "$to/longer" "$src/longer"
expect 0 "$send" -n -a --delete --psk-file "$work/psk" "$src/" "$url/t"
lines '<' | lists
said "dry run, nothing was done"
diff -r --no-dereference "$work/before" "$work/dst" || fail "a dry run changed something"
# with -v unchanged entries are listed, too
expect 0 "$send" -n -v -a --delete --psk-file "$work/psk" "$src/" "$url/t"
grep -qxE '\.f {9} rot' "$work/last.out" || fail "-v does not list what stays"
grep -qxE '\.L {9} link -> same' "$work/last.out" || fail "-v does not list a link that stays"
# contents, with -c; for a file that differs only in its time, just the time is set
expect 0 "$send" -n -c --psk-file "$work/psk" "$src/" "$url/t"
grep -qx '<fc[.]\{8\} rot' "$work/last.out" || fail "-c: $(cat "$work/last.out")"
grep -qx '[.]f[.][.]t[.]\{6\} later' "$work/last.out" || fail "-c: $(cat "$work/last.out")"
# without -p, modes and times of directories do not matter
expect 0 "$send" -n --psk-file "$work/psk" "$src/" "$url/t"
! grep -q ' mode$\| old/$' "$work/last.out" || fail "a mode is listed that would not be set"
# at an empty destination everything is new, with each kind of link separate
expect 0 "$send" -n -H --psk-file "$work/psk" "$src/" "$url/empty"
grep -qxE 'hf\+{9} (twin|same) => (twin|same)' "$work/last.out" || fail "a hard link: $(cat "$work/last.out")"
grep -qxF 'cL+++++++++ link -> same' "$work/last.out" || fail "a link: $(cat "$work/last.out")"
grep -qxF 'cd+++++++++ old/' "$work/last.out" || fail "a directory: $(cat "$work/last.out")"

# --- the same in JSON
expect 0 "$send" -n --json -a --delete --psk-file "$work/psk" "$src/" "$url/t"
json=$work/last.out
[ "$(wc -l <"$json")" -eq 1 ] || fail "--json is more than an object"
[ "$(json_field "$json" dry_run)" = true ] || fail "--json"
grep -qF '{"itemized":"<f.s.......","action":"update","path":"longer","type":"file","new":false,"changes":["size"],"size":18}' "$json" ||
    fail "no file: $(cat "$json")"
grep -qF '{"itemized":"cd+++++++++","action":"make","path":"new","type":"directory","new":true,"changes":[]}' "$json" || fail "no directory"
grep -qF '"action":"make","path":"led","type":"symlink","new":false,"changes":["content"],"target":"longer"}' "$json" || fail "no link"
grep -qF '{"itemized":"*deleting  ","action":"delete","path":"extra","type":"other"}' "$json" || fail "no deletion"
grep -qF '"plan_complete":true' "$json" || fail "plan_complete"
expect 0 "$send" -n --json-stream -a --delete --psk-file "$work/psk" "$src/" "$url/t"
[ "$(grep -c '^{"event":"plan",' "$work/last.out")" -eq "$(lines x | wc -l)" ] || fail "--json-stream: $(cat "$work/last.out")"
tail -n 1 "$work/last.out" >"$work/end"
[ "$(json_field "$work/end" event)" = '"end"' ] && ! grep -q '"plan":' "$work/end" || fail "the end of --json-stream"

# --- pulled: the same letters in the other direction
expect 0 "$recv" -a --psk-file "$work/psk" "$url/t/" "$work/got"
mkdir "$work/dst/t/more"
printf 'longer by far, this time' >"$work/dst/t/later"
ln -sf rot "$work/dst/t/link"
expect 0 "$recv" -n -a --psk-file "$work/psk" "$url/t/" "$work/got"
grep -qxE '>f\.st\.{6} later' "$work/last.out" || fail "a pull: $(cat "$work/last.out")"
grep -qxF 'cd+++++++++ more/' "$work/last.out" || fail "a pull: $(cat "$work/last.out")"
grep -qxF 'cLc........ link -> rot' "$work/last.out" || fail "a pull: $(cat "$work/last.out")"
expect 0 "$recv" -n --json -a --psk-file "$work/psk" "$url/t/" "$work/got"
grep -qF '"itemized":">f.st......"' "$work/last.out" || fail "the object of a pull"

# --- and the run does what was listed: afterwards the list is empty
expect 0 "$send" -a --delete --psk-file "$work/psk" "$src/" "$url/t"
expect 0 "$send" -n -a --delete --psk-file "$work/psk" "$src/" "$url/t"
[ ! -s "$work/last.out" ] || fail "after the run there is something to do: $(cat "$work/last.out")"
