# Missing and unreadable sources: the rest is sent, and the exit code reports the failure.
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/dst"
echo x >"$work/file"
start_recv r --dir "$work/dst" --psk-file "$work/psk"
url=udtx://127.0.0.1:$port/
expect 11 "$send" --json --psk-file "$work/psk" "$work/none" "$url"
said "$work/none"
[ "$(json_field "$work/last.out" exit_code)" -eq 11 ] || fail "exit_code"
expect 23 "$send" --json --psk-file "$work/psk" "$work/none" "$work/file" "$url"
said "$work/none"
cmp "$work/file" "$work/dst/file" || fail "the source that exists was not sent"
[ "$(json_field "$work/last.out" failed_count)" -eq 1 ] || fail "failed_count"
[ "$(json_field "$work/last.out" status)" = '"partial"' ] || fail "status"

# procfs reports 0 bytes and delivers more: the tool must not silently send an empty file.
expect 23 "$send" --psk-file "$work/psk" /proc/version "$url"
said "version.*true size"
[ ! -e "$work/dst/version" ] || fail "a file of unknown size arrived"

# Existing files count as delivered: the second run ends as the first one.
mkdir "$work/deep"
deep=$work/deep/$(printf 'd/%.0s' $(seq 128))
mkdir -p "$deep"
echo c >"$work/deep/c"
for _ in 1 2; do
    expect 23 "$send" --json --psk-file "$work/psk" "$work/deep" "$url"
    said "128 levels"
    never_said "nothing was delivered"
done
[ "$(json_field "$work/last.out" unchanged)" -eq 1 ] || fail "the other file did not stand there"
