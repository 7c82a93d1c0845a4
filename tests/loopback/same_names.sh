# Sources with the same names: udtx sends the first source's file, directories merge, and every file is complete.
. "$(dirname "$0")/lib.sh"
make_key
for side in a b; do
    mkdir -p "$work/$side/d" "$work/$side/only-$side"
    head -c 20000000 /dev/urandom >"$work/$side/big"
    for f in d/small "d/of-$side" "only-$side/x"; do printf 'from %s' "$side" >"$work/$side/$f"; done
done
mkdir "$work/dst" "$work/both"
cp -r "$work/b/." "$work/both/"
cp -r "$work/a/." "$work/both/"
start_recv r --allow-read --dir "$work" --psk-file "$work/psk"
base=udtx://127.0.0.1:$port
url=$base/dst
copy() { expect 0 "$send" --json --psk-file "$work/psk" "$@"; }

copy --receipt "$work/receipt" "$work/a/" "$work/b/" "$url/t"
diff -r "$work/both" "$work/dst/t" || fail "the tree is not what the sources have together"
[ "$(json_field "$work/last.out" files)" -eq 6 ] || fail "files are counted twice"
expect 0 "$recv" verify "$work/receipt" "$work/dst/t"
copy "$work/a/" "$work/b/" "$url/t"
[ "$(json_field "$work/last.out" sent_bytes)" -eq 0 ] || fail "the same names are sent again"

copy "$work/a/" "$work/a/." "$url/self"
diff -r "$work/a" "$work/dst/self" || fail "a source and itself"
# Sources with one last name: the same rule, pushed and pulled.
mkdir "$work/named"
copy "$work/a/d" "$work/b/d" "$work/a/big" "$work/b/big" "$url/named"
said "2 names are in several sources; udtx sent the entry of the first source"
diff -r "$work/both/d" "$work/dst/named/d" || fail "two directories of one name do not become one"
cmp "$work/a/big" "$work/dst/named/big" || fail "of two files of one name the first did not go"
expect 0 "$recv" --psk-file "$work/psk" "$base/a/d" "$base/b/d" "$base/a/big" "$base/b/big" "$work/named"
diff -r "$work/dst/named" "$work/named" || fail "fetched, sources of one name are something else"

expect 0 "$send" -n --psk-file "$work/psk" "$work/a/" "$work/b/" "$url/dry"
[ "$(grep -c ' big$' "$work/last.out")" -eq 1 ] || fail "a dry run lists a name twice"

# Cut off in the middle: no incomplete file has its final name.
"$send" --rate 100M --psk-file "$work/psk" "$work/a/" "$work/b/" "$url/killed" 2>"$work/killed.err" &
sender=$!
receivers+=("$sender")
sleep 1
kill -KILL "$sender"
wait_for 137 "$sender"
kill -INT "$receiver"
wait_for 130 "$receiver"
[ ! -e "$work/dst/killed/big" ] || cmp "$work/a/big" "$work/dst/killed/big" || fail "an incomplete file has its final name"
