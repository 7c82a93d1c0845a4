# The destinations of sources: as with rsync and scp -r.
. "$(dirname "$0")/lib.sh"
make_key
mkdir -p "$work/dst" "$work/s/dir/sub"
echo file >"$work/s/file"
echo inner >"$work/s/dir/sub/inner"
start_recv r --dir "$work/dst" --psk-file "$work/psk"
to() { expect 0 "$send" --psk-file "$work/psk" "${@:2}" "udtx://127.0.0.1:$port/$1"; }
same() { cmp "$1" "$work/dst/$2" || fail "$2"; }

to "" "$work/s/file" "$work/s/dir"
same "$work/s/file" file
same "$work/s/dir/sub/inner" dir/sub/inner
to "a/b/" "$work/s/file"
same "$work/s/file" a/b/file
to "contents" "$work/s/dir/"
same "$work/s/dir/sub/inner" contents/sub/inner
[ ! -e "$work/dst/contents/dir" ] || fail "SRC/ must send the contents"
to "with%20space" "$work/s/file"
same "$work/s/file" "with space/file"
mkdir "$work/s/nothing"
to "" "$work/s/nothing"
[ -d "$work/dst/nothing" ] || fail "an empty directory"
# The environment names the key, and new content replaces that of a file.
echo changed >"$work/s/file"
UDTX_PSK_FILE=$work/psk expect 0 "$send" --checksum sha256 "$work/s/file" "udtx://127.0.0.1:$port/"
same "$work/s/file" file
kill -TERM "$receiver"
wait_for 0 "$receiver"
