# Selection of the files to send: patterns, lists of names, links. A second run of the same tree sends nothing.
. "$(dirname "$0")/lib.sh"
make_key
src=$work/src
mkdir -p "$src/keep/sub" "$src/cache/deep" "$src/other" "$work/dst"
for f in keep/a.o keep/b.c keep/sub/c.c keep/sub/important.o cache/x cache/deep/y other/z.c top.o; do
    printf 'content of %s' "$f" >"$src/$f"
done
head -c 5000000 /dev/urandom >"$src/big"
ln -s keep/b.c "$src/inside"
ln -s /etc/passwd "$src/outside"
ln "$src/keep/b.c" "$src/keep/twin.c"
start_recv r --dir "$work/dst" --psk-file "$work/psk"
url=udtx://127.0.0.1:$port
copy() { expect 0 "$send" --json --psk-file "$work/psk" "$@"; }
sent() { json_field "$work/last.out" sent_bytes; }
is() { [ "$(json_field "$work/last.out" "$1")" -eq "$2" ] || fail "$1 is $(json_field "$work/last.out" "$1") instead of $2"; }
# One block of a long file may be sent in addition, if the receiver does not answer soon.
sent_is() { [ "$(sent)" -eq "$1" ] || [ "$(sent)" -eq $(($1 + 1048576)) ] || fail "$(sent) bytes were sent instead of $1"; }
names() { (cd "$1" && find . -mindepth 1 -printf '%P\n' | LC_ALL=C sort | tr '\n' ' '); }

# --- patterns: the first match decides
copy --include 'important.o' --exclude '*.o' --exclude /src/cache/ --exclude 'other/**' "$src" "$url/filtered"
[ "$(names "$work/dst/filtered/src")" = "big inside keep keep/b.c keep/sub keep/sub/c.c keep/sub/important.o keep/twin.c other outside " ] ||
    fail "patterns: $(names "$work/dst/filtered/src")"

# --- rsync's prefixes: a rule names its own kind, and "!" clears the rules before it
printf '# local\n- *.o\n+ keep/***\n- *\n' >"$work/rules"
copy --exclude-from "$work/rules" "$src/" "$url/prefixed"
[ "$(names "$work/dst/prefixed")" = "keep keep/b.c keep/sub keep/sub/c.c keep/twin.c " ] ||
    fail "prefixes: $(names "$work/dst/prefixed")"
copy --exclude 'keep' --exclude '!' --exclude '+ /top.o' --exclude '*' "$src/" "$url/forgotten"
[ "$(names "$work/dst/forgotten")" = "top.o " ] || fail "a list begun anew: $(names "$work/dst/forgotten")"

# --- lists of names, separated by lines and by NUL
printf 'keep/sub/c.c\n./top.o\nother\n' | copy --files-from - "$src" "$url/listed"
[ "$(names "$work/dst/listed")" = "keep keep/sub keep/sub/c.c other top.o " ] || fail "names: $(names "$work/dst/listed")"
printf 'keep/sub\0cache/deep\0' >"$work/list"
copy -r -0 --files-from "$work/list" "$src/" "$url/nul"
[ "$(names "$work/dst/nul")" = "cache cache/deep cache/deep/y keep keep/sub keep/sub/c.c keep/sub/important.o " ] ||
    fail "names by NUL: $(names "$work/dst/nul")"

# The rules apply to the named entries, not to the directories above them.
printf 'keep/sub/c.c\ncache/x\n' | copy --files-from - --exclude keep --exclude 'cache/***' "$src" "$url/on-the-way"
[ "$(names "$work/dst/on-the-way")" = "keep keep/sub keep/sub/c.c " ] || fail "on the way: $(names "$work/dst/on-the-way")"

# A slash or dot at the end also sends the entries directly in it. Lines that begin with # or ; are comments. -a does
# not descend into named directories.
printf '# a comment\n;another\n\nkeep/\ncache/.\nother\n' | copy -a --files-from - "$src" "$url/slash"
[ "$(names "$work/dst/slash")" = "cache cache/deep cache/x keep keep/a.o keep/b.c keep/sub keep/twin.c other " ] ||
    fail "names with a slash: $(names "$work/dst/slash")"
printf '.\n' | copy --files-from - "$src" "$url/top"
[ "$(names "$work/dst/top")" = "big cache inside keep other outside top.o " ] || fail "the top: $(names "$work/dst/top")"
printf '.\n' | copy -a -r --files-from - "$src" "$url/whole"
diff -r --no-dereference "$src" "$work/dst/whole" || fail "all of the top"
printf x >"$src/#name"
printf '#name\0' | copy -0 --files-from - "$src" "$url/hash"
[ "$(names "$work/dst/hash")" = "#name " ] || fail "a name by NUL is taken for a comment"
rm "$src/#name"

# --- links: preserved, only those that stay inside the tree, none
copy --safe-links --exclude keep --exclude cache --exclude other --exclude big "$src/" "$url/safe"
[ "$(names "$work/dst/safe")" = "inside top.o " ] || fail "safe links: $(names "$work/dst/safe")"
[ "$(readlink "$work/dst/filtered/src/outside")" = /etc/passwd ] || fail "a link is not the link that it was"

# --- a dry run changes nothing, and lists the actions
expect 0 "$send" -n --psk-file "$work/psk" "$src" "$url/dry"
[ ! -e "$work/dst/dry" ] || fail "a dry run made something"
grep -q '^<f+++++++++ src/keep/sub/c.c$' "$work/last.out" || fail "the dry run does not list what would be sent"
said "dry run, nothing was done: 10 files"
until_true 60 grep -q "dry run, nothing was done$" "$work/r.log"
if [ -c /dev/full ]; then
    code=0
    "$send" -n --psk-file "$work/psk" "$src" "$url/dry" >/dev/full 2>"$work/last.err" || code=$?
    [ "$code" -eq 11 ] || fail "a list that was not written ends with $code"
    said "cannot write the list"
fi

# --- again: nothing is sent; then only the changes
copy "$src" "$url/again"
is files 10
copy "$src" "$url/again"
is files 0
is unchanged 12
sent_is 0
diff -r --no-dereference "$src" "$work/dst/again/src" || fail "the trees differ"
printf 'changed!' >"$src/keep/sub/c.c"
touch "$src/top.o"
expect 0 "$send" -n --psk-file "$work/psk" "$src" "$url/again"
grep -q '^<f[.]s[t.]...... src/keep/sub/c.c$' "$work/last.out" || fail "the dry run misses the change"
! grep -q 'src/big' "$work/last.out" || fail "the dry run lists what is the same"
copy "$src" "$url/again"
sent_is 8
is files 1
diff -r --no-dereference "$src" "$work/dst/again/src" || fail "the trees differ"

# --- by hash: the only way to find a change that keeps size and time
stamp=$(stat -c %y "$src/other/z.c")
printf 'CONTENT of other/z.c' >"$src/other/z.c"
touch -d "$stamp" "$src/other/z.c"
copy "$src" "$url/again"
is files 0
copy -c "$src" "$url/again"
is files 1
sent_is 20
diff -r --no-dereference "$src" "$work/dst/again/src" || fail "the trees differ"

# --- only the blocks of a changed file that differ
printf 'x' | dd of="$src/big" bs=1 seek=1500000 conv=notrunc status=none
head -c 100 /dev/urandom >>"$src/big"
copy "$src" "$url/again"
is files 1
[ "$(sent)" -le $((2 * 1048576 + 1000000)) ] || fail "$(sent) bytes were sent for one changed block and a longer tail"
cmp "$src/big" "$work/dst/again/src/big" || fail "the files differ"
[ -z "$(find "$work/dst" -name '.*')" ] || fail "something was left behind"

# --- never and always
printf 'theirs' >"$work/dst/again/src/top.o"
copy --overwrite never "$src" "$url/again"
is skipped 10
sent_is 0
[ "$(cat "$work/dst/again/src/top.o")" = theirs ] || fail "--overwrite never wrote over a file"
copy --overwrite always "$src" "$url/again"
is files 10
cmp "$src/top.o" "$work/dst/again/src/top.o" || fail "--overwrite always left a file"
