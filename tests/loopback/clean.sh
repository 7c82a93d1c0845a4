# udtx-recv clean removes the leftovers of transfers that ended early. It keeps the files of a running transfer, and
# files of others.
. "$(dirname "$0")/lib.sh"
make_key
mkdir -p "$work/dst/sub" "$work/src"
for i in 1 2 3; do head -c 3000000 /dev/urandom >"$work/src/f$i"; done
number=0123456789abcdef
clean() { expect "$1" "$recv" clean "${@:2}"; }
lists() { grep -qE -- "$1" "$work/last.out" || fail "clean does not list $1: $(cat "$work/last.out")"; }
left() { (cd "$work/dst" && find . -name '*.udtx-*' -printf '%P\n' | LC_ALL=C sort); }

# --- a running transfer, then killed
start_recv r --dir "$work/dst" --psk-file "$work/psk"
"$send" --rate 16M --psk-file "$work/psk" "$work/src" "udtx://127.0.0.1:$port/at" 2>"$work/send.log" &
sender=$!
has_parts() { [ -n "$(find "$work/dst/at" -name '*.part' 2>/dev/null)" ] && [ -n "$(find "$work/dst/at" -name '*.journal')" ]; }
until_true 20 has_parts
# Between two files there is nothing to keep.
kept() { clean 0 "$1" && said "0 files, 0 B removed" && grep -q "kept .*: a transfer is running" "$work/last.err"; }
for at in "$work/dst" "$work/dst/at/src"; do until_true 20 kept "$at"; done
until_true 20 has_parts
kill -KILL "$receiver" "$sender"
wait "$receiver" "$sender" 2>/dev/null || true

# --- files with similar names
printf 'mine' >"$work/dst/notes.udtx-$number.part"
printf 'no journal' >"$work/dst/.udtx-$number.journal"
mkdir "$work/dst/.udtx-$number.part"
printf 'inside' >"$work/dst/.udtx-$number.part/kept"
mkdir "$work/elsewhere"
printf 'linked' >"$work/elsewhere/.x.udtx-$number.part"
ln -s ../elsewhere "$work/dst/link"
ln -s ../elsewhere/.x.udtx-$number.part "$work/dst/sub/.y.udtx-$number.part"
printf 'orphan' >"$work/dst/sub/.x.udtx-$number.part"  # of a run without a journal
ln -s anywhere "$work/dst/sub/.udtx-$number.part"  # a symbolic link that did not get its final name
before=$(left)
others=".udtx-$number.journal
.udtx-$number.part
notes.udtx-$number.part
sub/.y.udtx-$number.part"

# --- listed, then removed, and only those
clean 0 -n "$work/dst"
lists '^at/\.udtx-[0-9a-f]{16}\.journal$'
lists '^at/src/\..*\.part$'
lists "^sub/.x.udtx-$number.part$"
lists "^sub/.udtx-$number.part$"
said "nothing was done: [0-9]+ files, .* would be removed, [0-9]+ kept"
cp "$work/last.out" "$work/listed"
[ "$(left)" = "$before" ] || fail "-n removed something"
clean 0 --older-than 1 "$work/dst"
[ ! -s "$work/last.out" ] || fail "what is new was removed: $(cat "$work/last.out")"
clean 0 --json "$work/dst"
[ "$(json_field "$work/last.out" failed)" -eq 0 ] || fail "--json"
[ "$(grep -o '\.part"\|\.journal"' "$work/last.out" | wc -l)" -eq "$(wc -l <"$work/listed")" ] || fail "not what was listed"
[ "$(left)" = "$others" ] || fail "left: $(left)"
[ -f "$work/dst/.udtx-$number.part/kept" ] && [ -f "$work/elsewhere/.x.udtx-$number.part" ] || fail "clean went too far"
said "kept .udtx-$number.journal: it is not a journal"

# --- the same command starts again and succeeds
start_recv again --dir "$work/dst" --psk-file "$work/psk"
expect 0 "$send" --json --psk-file "$work/psk" "$work/src" "udtx://127.0.0.1:$port/at"
diff -r "$work/src" "$work/dst/at/src" || fail "the trees differ"

expect 11 "$recv" clean "$work/nowhere"
expect 1 "$recv" clean
said "clean takes one directory"
expect 1 "$recv" clean --older-than soon "$work/dst"
said "--older-than"
