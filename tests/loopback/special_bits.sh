# Set-group-ID and sticky bits of directories are kept with -p; those of files only by a flag and if the receiver allows
# it, and after the owner, whose change takes them away. Capabilities and access lists are named.
. "$(dirname "$0")/lib.sh"
make_key
mkdir -p "$work/src/shared/in" "$work/src/tmp" "$work/dst/src/shared"
echo x >"$work/src/shared/tool"
echo x >"$work/src/plain"
chmod 2775 "$work/src/shared"
chmod 1777 "$work/src/tmp"
chmod 6755 "$work/src/shared/tool"
owner=$(id -u)
if [ "$owner" -eq 0 ]; then
    owner=12345
    chown -R 12345:12345 "$work/src"
    chmod 6755 "$work/src/shared/tool"
fi
mode() { stat -c %a "$work/dst/src/$1"; }
start_recv strict --dir "$work/dst" --psk-file "$work/psk"
url=udtx://127.0.0.1:$port/
for _ in 1 2; do
    expect 0 "$send" -a --psk-file "$work/psk" "$work/src" "$url"
    [ "$(mode shared) $(mode tmp)" = "2775 1777" ] || fail "directories have modes $(mode shared) and $(mode tmp)"
    [ "$(mode shared/tool)" = 755 ] || fail "a file got mode $(mode shared/tool) without a flag"
    said "set-user-ID.*only with --set-id: 1 entry has one, first 'src/shared/tool'"
done
expect 0 "$send" -a --set-id --psk-file "$work/psk" "$work/src" "$url"
said "receiver runs without --allow-set-id"
[ "$(mode shared/tool)" = 755 ] || fail "a file got mode $(mode shared/tool) where that is not allowed"

start_recv mild --allow-set-id --dir "$work/dst" --psk-file "$work/psk"
url=udtx://127.0.0.1:$port/
# Of a file that is there already, and of a new one.
for _ in 1 2; do
    expect 0 "$send" -a --set-id --psk-file "$work/psk" "$work/src" "$url"
    never_said "set-user-ID"
    [ "$(mode shared/tool)" = 6755 ] || fail "the file has mode $(mode shared/tool)"
    [ "$(stat -c %u "$work/dst/src/shared/tool")" = "$owner" ] || fail "the file has another owner"
    rm -r "$work/dst/src"
done
expect 0 "$send" -a --set-id --psk-file "$work/psk" "$work/src" "$url"
[ "$(mode shared/tool) $(mode shared)" = "6755 2775" ] || fail "modes $(mode shared/tool) and $(mode shared)"
if [ "$owner" = 12345 ]; then
    # Another owner, and the bits stay.
    chown 12346:12346 "$work/src/shared/tool"
    chmod 6755 "$work/src/shared/tool"
    expect 0 "$send" -a --set-id --psk-file "$work/psk" "$work/src" "$url"
    [ "$(mode shared/tool) $(stat -c %u "$work/dst/src/shared/tool")" = "6755 12346" ] ||
        fail "after another owner: $(mode shared/tool)"
fi

capability='import os, sys; os.setxattr(sys.argv[1], "security.capability", bytes.fromhex("01000002002000000000000000000000000000000000"[:40]))'
if python3 -c "$capability" "$work/src/plain" 2>/dev/null; then
    expect 0 "$send" -a --psk-file "$work/psk" "$work/src" "$url"
    said "capabilities are never kept: 1 entry has one, first 'src/plain'"
fi

# Who fetches hears of it as well, and of what is of a kind that is never sent.
mkfifo "$work/src/fifo"
start_recv server --allow-read --dir "$work" --psk-file "$work/psk"
url=udtx://127.0.0.1:$port/src
expect 0 "$bin/udtx-recv" -a --psk-file "$work/psk" "$url" "$work/fetched"
said "sender: set-user-ID.*only with --set-id: 1 entry has one, first '(src|fetched)/shared/tool'"
said "sender: skipped FIFO"
