# Nothing lands outside of the receiver's directory.
. "$(dirname "$0")/lib.sh"
make_key
mkdir -p "$work/dst" "$work/outside"
echo x >"$work/file"
ln -s "$work/outside" "$work/dst/escape"
start_recv r --dir "$work/dst" --psk-file "$work/psk"
for path in ../outside a/../../outside ..%2Foutside /%2Ftmp/x ./../outside; do
    got=0
    timeout 240 "$send" --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/$path" 2>"$work/last.err" || got=$?
    case $path in
        /*) ;;
        *) [ "$got" -eq 11 ] || fail "'$path': exit code $got"
           said "refuse|name" ;;
    esac
done
got=0
timeout 240 "$send" --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/escape/" 2>"$work/last.err" || got=$?
[ "$got" -ne 0 ] || fail "a file went through a symbolic link"
[ -z "$(ls -A "$work/outside")" ] || fail "something landed outside"
[ ! -e "$work/dst/../file.udtx" ] || fail "something landed outside"
# A tree that carries a link and would like to write through it.
mkdir -p "$work/evil/dir"
ln -s "$work/outside" "$work/evil/dir/link"
expect 0 "$send" --psk-file "$work/psk" "$work/evil/" "udtx://127.0.0.1:$port/"
[ -z "$(ls -A "$work/outside")" ] || fail "something landed outside"
expect 0 "$send" --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/fine"
