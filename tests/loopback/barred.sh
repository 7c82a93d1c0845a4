# Directories at the receiver whose mode bars their own owner from writing (0555). New entries arrive in them, and the
# modes are the same afterwards. This also holds after an interruption, and after kill -9 and another run.
. "$(dirname "$0")/lib.sh"
if [ "$(id -u)" -eq 0 ]; then
    command -v setpriv >/dev/null || skip "root may write anywhere, and there is no setpriv to take that away"
    printf '#!/bin/sh\nexec setpriv --inh-caps=-dac_override,-dac_read_search %s "%s" "$@"\n' \
        --bounding-set=-dac_override,-dac_read_search "$recv" >"$work/recv"
    chmod +x "$work/recv"
    recv=$work/recv
fi
make_key
mode() { stat -c %a "$work/dst/$1"; }
mkdir -p "$work/src/closed/in" "$work/dst"
echo one >"$work/src/closed/f"
ln -s f "$work/src/closed/l"
chmod 555 "$work/src/closed"
start_recv r --allow-delete --dir "$work/dst" --psk-file "$work/psk"
url=udtx://127.0.0.1:$port

# --- the source has such a directory; then it gets a new file, for each way to send it
expect 0 "$send" -a --psk-file "$work/psk" "$work/src" "$url/"
[ "$(mode src/closed)" = 555 ] || fail "the mode was not kept"
for flags in -a -p "" "-a --no-resume" "-a --delete"; do
    chmod 755 "$work/src/closed"
    name=new${flags// /}
    echo "$flags" >"$work/src/closed/$name"
    ln -s "$name" "$work/src/closed/$name.link"
    ln "$work/src/closed/$name" "$work/src/closed/$name.other"
    mkdir "$work/src/closed/$name.dir"
    rm -f "$work/src/closed/f"
    chmod 555 "$work/src/closed"
    # shellcheck disable=SC2086
    expect 0 "$send" $flags --psk-file "$work/psk" "$work/src" "$url/"
    [ "$(mode src/closed)" = 555 ] || fail "'$flags': the directory has mode $(mode src/closed)"
done
diff -r --no-dereference "$work/src" "$work/dst/src" || fail "the trees differ"

# --- not sent in this run: the destination itself, a directory above it, and entries that --delete or a file of the
# same name removes
mkdir -p "$work/dst/a/b" "$work/dst/c/d/e" "$work/flat" "$work/tree"
echo x >"$work/dst/c/d/e/x"
echo two >"$work/flat/two"
chmod 555 "$work/dst/a/b" "$work/dst/a" "$work/dst/c/d/e" "$work/dst/c/d"
expect 0 "$send" --psk-file "$work/psk" "$work/flat/" "$url/a/b"
expect 0 "$send" --psk-file "$work/psk" "$work/flat/two" "$url/a/made/new"
expect 0 "$send" --psk-file "$work/psk" - "$url/a/b/stream" <"$work/flat/two"
[ "$(cat "$work/dst/a/b/two" "$work/dst/a/made/new/two" "$work/dst/a/b/stream")" = $'two\ntwo\ntwo' ] ||
    fail "something did not arrive"
[ "$(mode a)$(mode a/b)" = 555555 ] || fail "the directories have modes $(mode a) and $(mode a/b)"
echo "in place of a directory" >"$work/tree/d"
expect 0 "$send" -a --delete --psk-file "$work/psk" "$work/tree/" "$url/c"
[ -f "$work/dst/c/d" ] || fail "the file did not take the directory's place"

# --- interrupted, and killed and run again; without -p, so that only the destination's own mode counts
head -c 30000000 /dev/urandom >"$work/flat/big"
half() { [ "$(du -sk "$work/dst/a/b" | cut -f1)" -ge 9000 ]; }
for how in INT KILL; do
    chmod 755 "$work/dst/a/b"
    find "$work/dst/a/b" \( -name big -o -name '.udtx-*' \) -delete
    chmod 555 "$work/dst/a/b"
    takes_int "$send" --timeout 3 --rate 150M --psk-file "$work/psk" "$work/flat/" "$url/a/b" >"$work/flat.log" 2>&1 &
    sender=$!
    receivers+=("$sender")
    until_true 30 half
    [ "$(mode a/b)" = 755 ] || fail "it is not at work there"
    if [ $how = KILL ]; then
        kill -KILL "$sender" "$receiver"
        wait "$receiver" 2>/dev/null || true
        start_recv r --dir "$work/dst" --psk-file "$work/psk"
        url=udtx://127.0.0.1:$port
    else
        kill -INT "$sender"
    fi
    wait "$sender" 2>/dev/null || true
    closed() { [ "$(mode a/b)" = 555 ]; }
    [ $how = KILL ] || until_true 10 closed
    expect 0 "$send" --json --psk-file "$work/psk" "$work/flat/" "$url/a/b"
    [ "$(json_field "$work/last.out" resumed_bytes)" -gt 1000000 ] || fail "$how: nothing was resumed"
    cmp "$work/flat/big" "$work/dst/a/b/big"
    closed || fail "$how: the directory has mode $(mode a/b)"
done
[ -z "$(find "$work/dst" -name '.udtx-*')" ] || fail "something was left: $(find "$work/dst" -name '.udtx-*')"
