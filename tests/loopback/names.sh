# Every file stays inside the receiver's directory.
. "$(dirname "$0")/lib.sh"
make_key
mkdir -p "$work/dst" "$work/outside"
echo x >"$work/file"
ln -s "$work/outside" "$work/dst/escape"
start_recv r --dir "$work/dst" --psk-file "$work/psk"
refused=0
for path in ../outside a/../../outside ..%2Foutside ./../outside; do
    expect 11 "$send" --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/$path"
    said "refuse|name"
    refused=$((refused + 1))
done
# A path that begins with slashes also means a path below the directory.
absolute=$work/outside/absolute
expect 0 "$send" --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/${absolute//\//%2F}"
cmp "$work/file" "$work/dst$absolute/file" || fail "an absolute path is not below the directory: $(cd "$work/dst" && find .)"
got=0
timeout 240 "$send" --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/escape/" 2>"$work/last.err" || got=$?
[ "$got" -ne 0 ] || fail "a file went through a symbolic link"
[ -z "$(ls -A "$work/outside")" ] || fail "something landed outside"
# No leftovers exist beside the directory or in it.
[ "$(cd "$work" && ls -d dst* outside*)" = "$(printf 'dst\noutside')" ] || fail "something landed beside the directory"
[ -z "$(find "$work/dst" -name '*.udtx-*')" ] || fail "a temporary file is left"
# A tree that carries a link and tries to write through it.
mkdir -p "$work/evil/dir"
ln -s "$work/outside" "$work/evil/dir/link"
expect 0 "$send" --links --psk-file "$work/psk" "$work/evil/" "udtx://127.0.0.1:$port/"
[ "$(readlink "$work/dst/dir/link")" = "$work/outside" ] || fail "the link did not come"
# Attempts to write through the link: a new file, a file that exists outside, and a file in a directory that was made
# there by name.
echo precious >"$work/outside/canary"
cp "$work/file" "$work/canary"
through=0
for name in file canary; do
    for path in dir/link/ dir/link/deeper/; do
        got=0
        timeout 240 "$send" --psk-file "$work/psk" "$work/$name" "udtx://127.0.0.1:$port/$path" 2>"$work/last.err" || got=$?
        [ "$got" -ne 0 ] || fail "$name went through a link that was sent before, to $path"
        through=$((through + 1))
    done
done
[ "$(cat "$work/outside/canary")" = precious ] || fail "the file outside has changed"
[ "$(ls -A "$work/outside")" = canary ] || fail "something landed outside: $(ls -A "$work/outside")"
rm "$work/outside/canary"
expect 0 "$send" --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/fine"
outside=$(find "$work/outside" -mindepth 1 | wc -l)
fault_case F44 "real processes, paths with .. are refused with code 11, and absolute ones mean paths below the directory" "$refused refused, $outside files outside"
fault_case F45 "files through a link in the target, and through a link that was sent: nothing is written outside" \
    "$((through + 1)) refused, $outside files outside, the existing one unchanged"
