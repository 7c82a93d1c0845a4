# A full disk at the receiver ends with code 11, a line that says so, and no file under its final name.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" -eq 0 ] || skip "needs root to mount a small tmpfs"
mkdir "$work/small"
mount -t tmpfs -o size=4m tmpfs "$work/small" 2>/dev/null || skip "cannot mount a tmpfs here"
make_key
head -c 12000000 /dev/urandom >"$work/big"
start_recv r --dir "$work/small" --psk-file "$work/psk"
expect 11 "$send" --json --psk-file "$work/psk" "$work/big" "udtx://127.0.0.1:$port/"
said "[Nn]o space|full"
[ -z "$(find "$work/small" -type f)" ] || fail "something was left on the full disk"
echo small >"$work/file"
expect 0 "$send" --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/"
cmp "$work/file" "$work/small/file" || fail "the disk has room again"
