# A name whose kind has changed, handled as in rsync: a file, a link or an empty directory makes way, a directory with
# entries only under --delete. A dry run reports what the run does.
. "$(dirname "$0")/lib.sh"
make_key
src=$work/src
start_recv r --allow-delete --dir "$work" --psk-file "$work/psk"
url=udtx://127.0.0.1:$port
copy() { expect "$1" "$send" --json --psk-file "$work/psk" "${@:2}" "$src" "$url/$to"; }
plan() { expect "$1" "$send" -n -v --psk-file "$work/psk" "${@:2}" "$src" "$url/$to"; }
listed() { grep -qxE -- "$1" "$work/last.out" || fail "the dry run does not list '$1': $(cat "$work/last.out")"; }
unlisted() { ! grep -qF -- "$1" "$work/last.out" || fail "the dry run lists '$1'"; }
is() { [ "$(json_field "$work/last.out" "$1")" = "$2" ] || fail "$1 is $(json_field "$work/last.out" "$1") instead of $2"; }
same() { diff -r --no-dereference "$src" "$work/$to/src" || fail "the trees differ"; }
# The receiver's entries: each name has another kind there.
others() {
    to=$1
    local at=$work/$1/src
    mkdir -p "$at/file" "$at/link" "$at/twin"
    printf 'a file' >"$at/directory"
    ln -s /etc "$at/linked"
    printf 'theirs' >"$at/same"
}
mkdir -p "$src/directory/deep" "$src/linked"
for f in file directory/deep/f linked/f same; do printf 'content of %s' "$f" >"$src/$f"; done
ln -s same "$src/link"
# The file system determines which of the two names comes first.
ln "$src/same" "$src/twin"

# --- every directory in the way is empty
others empty
plan 0 -H
listed '<f\+{9} src/file'
listed 'cL\+{9} src/link -> same'
listed 'hf(\+{9}|c\.{8}) src/(twin|same) => src/(twin|same)'
listed '<f\+{9} src/directory/deep/f'
said '5 files'
copy 0 -H
is failed_count 0
same
[ ! -L "$work/empty/src/linked" ] || fail "a link is not replaced by a directory"
plan 0 -H
unlisted 'hf'
unlisted 'cL'
unlisted '<f'
listed '\.f {9} src/(twin|same)( => .*)?'
listed '\.L {9} src/link -> same'
said '0 files.*6 unchanged'
copy 0 -H
is files 0
is symlinks 0
is unchanged 6
# Links count as unchanged, but they are not files.
copy 0 -H --report "$work/page.html"
done=$(grep -oE '"files_done":[0-9]+' "$work/page.html" | sort -t : -k 2 -n | tail -n 1)
[ "$done" = '"files_done":5' ] || fail "of 5 files and a link $done"

# --- a changed file with two names gets both again; both count as files in the summary
printf 'longer than before' >"$src/same"
plan 0 -H
listed '<f\.s[t.]\.{6} src/(twin|same)'
listed 'hf(\+{9}|c\.{8}) src/(twin|same) => src/(twin|same)'
said '2 files'
copy 0 -H
is files 2
same

# --- with --overwrite never all of it stays
others never
cp -a "$work/never" "$work/before"
plan 0 -H --overwrite never
listed '\*exists     src/directory/'
listed '\*exists     src/directory/deep/f'
listed '\*exists     src/link -> same'
copy 0 -H --overwrite never
is files 0
is failed_count 0
diff -r --no-dereference "$work/never" "$work/before" || fail "--overwrite never replaced something"

# --- a directory with entries stays, and the message names it and the remedy; --delete removes it
others full
for d in file link twin; do printf 'x' >"$work/full/src/$d/inside"; done
copy 23 -H -n
failures=$(json_field "$work/last.out" failed_count)
for run in plan copy; do
    $run 23 -H
    said "'src/file'.*not empty.*--delete"
    [ -e "$work/full/src/file/inside" ] || fail "a directory was emptied"
done
[ "$failures" -ge 3 ] || fail "$failures failures"
is failed_count "$failures"
[ -f "$work/full/src/directory/deep/f" ] || fail "what could be replaced was not"
plan 0 -H --delete
listed '\*deleting   src/file/inside'
listed '\*deleting   src/twin/inside'
listed 'hf(\+{9}|c\.{8}) src/(twin|same) => src/(twin|same)'
[ "$(grep -c '^\*deleting ' "$work/last.out")" -eq 3 ] || fail "the dry run lists $(cat "$work/last.out")"
copy 0 -H --delete
is deleted 3
same

# --- except for excluded entries
others kept
printf 'x' >"$work/kept/src/file/inside.keep"
for run in plan copy; do
    $run 23 --delete --exclude '*.keep'
    said "'src/file', and it stays, because 'src/file/inside.keep' is excluded"
    [ -e "$work/kept/src/file/inside.keep" ] || fail "an excluded file was deleted"
done

# --- special files make way for a directory, a file and a link; the server's sandbox gives such files no new names
to=special
mkdir -p "$work/special/src"
for name in directory same link; do
    mkfifo "$work/special/src/$name"
    ln "$work/special/src/$name" "$work/special/src/$name.twin"
done
copy 0
is failed_count 0
[ -p "$work/special/src/directory.twin" ] || fail "another name of a FIFO is gone"
rm "$work/special/src/"*.twin
same

# --- one of a file's three names stays or cannot be made: the others are a file and a link to it, in a dry run, too
src=$work/three
mkdir "$src"
printf 'of three names' >"$src/a"
ln "$src/a" "$src/b"
ln "$src/a" "$src/c"
counts() { for f in files bytes unchanged skipped failed_count; do json_field "$work/last.out" $f; done | paste -sd ' '; }
# predicted CODE OPTIONS...: a dry run and a run, which deliver to $to, end alike.
predicted() {
    expect "$1" "$send" -n --json --psk-file "$work/psk" "${@:2}" "$src/" "$url/$to"
    local planned
    planned=$(counts)
    expect "$1" "$send" --json --psk-file "$work/psk" "${@:2}" "$src/" "$url/$to"
    [ "$planned" = "$(counts)" ] || fail "$to: the dry run predicts $planned, and the run says $(counts)"
}
for name in a b c; do
    to=stays-$name
    mkdir "$work/$to"
    printf 'theirs' >"$work/$to/$name"
    predicted 0 -H --overwrite never
    [ "$(counts)" = "2 14 0 1 0" ] || fail "$to: $(counts)"
    to=blocked-$name
    mkdir -p "$work/$to/$name/entry"
    predicted 23 -H
    [ "$(counts)" = "2 14 0 0 1" ] || fail "$to: $(counts)"
done
