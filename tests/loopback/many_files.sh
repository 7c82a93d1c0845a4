# 10,000 small files.
. "$(dirname "$0")/lib.sh"
make_key
mkdir -p "$work/dst" "$work/src"
for d in $(seq 100); do
    mkdir "$work/src/$d"
    (cd "$work/src/$d" && seq 1000 | split -l 10 -a 3 - f)
done
[ "$(find "$work/src" -type f | wc -l)" -eq 10000 ] || fail "the test made the wrong number of files"
start_recv r --one-off --dir "$work/dst" --psk-file "$work/psk"
expect 0 "$send" --json --psk-file "$work/psk" "$work/src" "udtx://127.0.0.1:$port/"
wait_for 0 "$receiver"
diff -r "$work/src" "$work/dst/src" || fail "the trees differ"
[ "$(json_field "$work/last.out" files)" -eq 10000 ] || fail "the report counts otherwise"
