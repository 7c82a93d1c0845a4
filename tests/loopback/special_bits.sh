# -p keeps set-group-ID and sticky bits of directories. Those of files need a flag and the receiver's permission, and
# are set after the owner, as a change of owner removes them. Capabilities and access lists are named.
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
    masked=$(mode shared/tool)
    said "set-user-ID.*only with --set-id: 1 entry has one, first 'src/shared/tool'"
done
for dry in "" -n; do
    expect 11 "$send" $dry -a --set-id --psk-file "$work/psk" "$work/src" "$url"
    said "--set-id is not allowed here: start the receiver with --allow-set-id"
    grep -q "set-id is not allowed here" "$work/strict.log" || fail "the receiver does not say so"
done
[ "$(mode shared/tool)" = 755 ] || fail "a file got mode $(mode shared/tool) where that is not allowed"
alone=$(mode shared/tool)

# Without the flags nothing of it is set: neither bits nor owner nor attributes.
setfattr -n user.mine -v x "$work/src/plain" 2>/dev/null || true
expect 0 "$send" --psk-file "$work/psk" "$work/src" "${url}unasked"
unasked=$(cd "$work/dst/unasked/src" && stat -c '%u %a' shared/tool)
[ "$unasked" = "$(id -u) 755" ] || fail "without a flag a file has owner and mode $unasked"
[ -z "$(python3 -c 'import os, sys; print(*os.listxattr(sys.argv[1]))' "$work/dst/unasked/src/plain" | grep user)" ] ||
    fail "without a flag a file has attributes"

start_recv mild --allow-set-id --dir "$work/dst" --psk-file "$work/psk"
url=udtx://127.0.0.1:$port/
# For an existing file, and for a new one.
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
    # The owner changes, and the bits stay.
    chown 12346:12346 "$work/src/shared/tool"
    chmod 6755 "$work/src/shared/tool"
    expect 0 "$send" -a --set-id --psk-file "$work/psk" "$work/src" "$url"
    [ "$(mode shared/tool) $(stat -c %u "$work/dst/src/shared/tool")" = "6755 12346" ] ||
        fail "after another owner: $(mode shared/tool)"
fi

# Where everybody may write, the group of a directory is passed on only for a peer that may set owners.
mkdir "$work/src/open"
chmod 7777 "$work/src/open"
expect 0 "$send" -p --psk-file "$work/psk" "$work/src" "$url"
[ "$(mode open)" = 1777 ] || fail "with -p a directory that was 7777 has $(mode open)"
said "only with --set-id: 2 entries have one, first 'src/open'"
chmod 2777 "$work/src/open"
expect 0 "$send" -p --psk-file "$work/psk" "$work/src" "$url"
[ "$(mode open)" = 777 ] || fail "with -p a directory that was 2777 has $(mode open)"
said "only with --set-id: 2 entries have one, first 'src/open'"
chmod 7777 "$work/src/open"
expect 0 "$send" -np --json --psk-file "$work/psk" "$work/src" "$url"
! grep -q '"open' "$work/last.out" || ! grep -q 'p\.\.\.\.\. src/open' "$work/last.err" || fail "-n says that its mode would change"
expect 0 "$send" -a --psk-file "$work/psk" "$work/src" "$url"
[ "$(mode open)" = "$([ "$(id -u)" -eq 0 ] && echo 3777 || echo 1777)" ] || fail "with -a a directory that was 7777 has $(mode open)"
expect 0 "$send" -a --set-id --psk-file "$work/psk" "$work/src" "$url"
[ "$(mode open)" = 7777 ] || fail "with --set-id a directory that was 7777 has $(mode open)"

# An access control list is not kept, and nobody gets more by the mode than by the list.
if command -v setfacl >/dev/null && setfacl -m u:65534:rw "$work/src/plain" 2>/dev/null; then
    mkdir "$work/lists"
    # list NAME MODE WANTED LIST: a file and a directory with the list, and the mode that must arrive.
    list() {
        local name=$1 bits=$2 list=$4
        echo "$name" >"$work/lists/$name"
        mkdir "$work/lists/$name.d"
        for entry in "$name" "$name.d"; do
            chmod "$bits" "$work/lists/$entry"
            setfacl -m "$list" "$work/lists/$entry"
        done
        echo "$name $3" >>"$work/lists.wanted"
    }
    list user 644 644 u:65534:rw,g::r--,m::rw-
    list group 640 600 g:65534:rwx,g::---,m::rwx
    list mask 777 747 g:65534:rwx,m::r-x,g::r--,o::rwx
    list denied 666 600 u:65534:---,m::rw-
    list none 664 664 u::rw-
    sed -i 's/^mask 747$/mask 745/' "$work/lists.wanted"
    check_lists() {
        while read -r name wanted; do
            for entry in "$name" "$name.d"; do
                [ "$(stat -c %a "$1/$entry")" = "$wanted" ] || fail "$2: $entry has $(stat -c %a "$1/$entry") and not $wanted"
            done
        done <"$work/lists.wanted"
    }
    start_recv lists --allow-read --dir "$work" --psk-file "$work/psk"
    to=udtx://127.0.0.1:$port
    for flags in -a -p; do
        for _ in 1 2; do
            expect 0 "$send" $flags --psk-file "$work/psk" "$work/lists/" "$to/listed$flags"
            check_lists "$work/listed$flags" "pushed $flags"
            expect 0 "$bin/udtx-recv" $flags --psk-file "$work/psk" "$to/lists/" "$work/fetched$flags"
            check_lists "$work/fetched$flags" "fetched $flags"
        done
    done
    # Without -p the umask takes more away, and never less.
    sed -i 's/^none 664$/none 644/; s/^mask 745$/mask 745/' "$work/lists.wanted"
    (umask 022 && exec "$recv" --listen 127.0.0.1:0 --one-off --dir "$work/dst" --psk-file "$work/psk" >"$work/u.log" 2>&1) &
    receivers+=("$!")
    until_true 60 grep -q listening "$work/u.log"
    port=$(sed -nE 's/.*listening on .*:([0-9]+)\/udp.*/\1/p' "$work/u.log")
    expect 0 "$send" --psk-file "$work/psk" "$work/lists/" "udtx://127.0.0.1:$port/unlisted"
    check_lists "$work/dst/unlisted" "without -p"
    setfacl -b "$work/src/plain"
fi
rmdir "$work/src/open"

capability='import os, sys; os.setxattr(sys.argv[1], "security.capability", bytes.fromhex("01000002002000000000000000000000000000000000"[:40]))'
if python3 -c "$capability" "$work/src/plain" 2>/dev/null; then
    expect 0 "$send" -a --psk-file "$work/psk" "$work/src" "$url"
    said "capabilities are never kept: 1 entry has one, first 'src/plain'"
fi

# A pull reports the same, and the kinds of files that are never sent.
mkfifo "$work/src/fifo"
start_recv server --allow-read --dir "$work" --psk-file "$work/psk"
url=udtx://127.0.0.1:$port/src
expect 0 "$bin/udtx-recv" -a --psk-file "$work/psk" "$url" "$work/fetched"
said "sender: set-user-ID.*only with --set-id: 1 entry has one, first '(src|fetched)/shared/tool'"
said "sender: skipped FIFO"

# The destination itself gets the metadata of a source whose contents alone are sent. The server's own directory never
# does.
mkdir -m 2750 "$work/top" && echo x >"$work/top/x"
touch -d '2001-02-03 04:05:06' "$work/top"
belongs() { stat -c '%a %Y' "$1"; }
own=$(stat -c %a "$work")
for flags in -a -p; do
    rm -rf "$work/new" "$work/got"
    expect 0 "$send" $flags --psk-file "$work/psk" "$work/top/" "udtx://127.0.0.1:$port/new"
    expect 0 "$bin/udtx-recv" $flags --psk-file "$work/psk" "udtx://127.0.0.1:$port/top/" "$work/got"
    [ "$(belongs "$work/top")" = "$(belongs "$work/new")" ] || fail "$flags, pushed: $(belongs "$work/new")"
    [ "$(belongs "$work/top")" = "$(belongs "$work/got")" ] || fail "$flags, fetched: $(belongs "$work/got")"
done
expect 0 "$send" -a --psk-file "$work/psk" "$work/top/" "udtx://127.0.0.1:$port/"
[ "$(stat -c %a "$work")" = "$own" ] || fail "the server's own directory has got the mode $(stat -c %a "$work")"
chmod 2555 "$work/top"
expect 0 "$send" -a --json --psk-file "$work/psk" "$work/top/" "udtx://127.0.0.1:$port/new"
[ "$(stat -c %a "$work/new")" = 2555 ] || fail "a closed one: $(stat -c %a "$work/new")"
chmod 755 "$work/new"
rm -rf "$work/new"
expect 0 "$send" --psk-file "$work/psk" "$work/top/" "udtx://127.0.0.1:$port/new"
[ "$(stat -c %a "$work/new")" != 2555 ] || fail "without -p it has the mode of the source"
fault_case F52 "set-ID bits of files only if both ends allow them, owners and attributes only with the sender's -a, capabilities never" \
    "of 6755: $masked with -a, $alone with --set-id alone; without a flag owner and mode $unasked"
