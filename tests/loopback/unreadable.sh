# Files that the sender may not read are counted and named at both ends. Root runs without its right to read everything.
barred() {
    local file readable=1
    file=$(mktemp)
    chmod 000 "$file"
    cat "$file" >/dev/null 2>&1 || readable=0
    rm -f "$file"
    [ $readable -eq 0 ]
}
if ! barred; then
    without=(setpriv --inh-caps=-dac_override,-dac_read_search --bounding-set=-dac_override,-dac_read_search)
    if [ "${3:-}" != again ] && "${without[@]}" true 2>/dev/null; then exec "${without[@]}" bash "$0" "$1" "$2" again; fi
    echo "skipped: this user reads everything, and setpriv cannot take that away"
    exit 77
fi
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/dst"
is() { [ "$(json_field "$1" "$2")" = "$3" ] || fail "$2 is $(json_field "$1" "$2"), not $3"; }

mkdir -p "$work/tree/shut"
for name in a b c; do echo $name >"$work/tree/$name"; done
chmod 000 "$work/tree/a" "$work/tree/b" "$work/tree/shut"
start_recv unread --one-off --json --dir "$work/dst" --psk-file "$work/psk"
expect 23 "$send" --json --psk-file "$work/psk" "$work/tree" "udtx://127.0.0.1:$port/"
wait_for 23 "$receiver"
is "$work/last.out" failed_count 3
is "$work/unread.out" failed_count 3
is "$work/unread.out" files 1
grep -q "tree/a.*could not be read at the sender: Permission denied" "$work/unread.log" || fail "the receiver does not name the file"

# Two runs with -p over directories that bar their owner.
mkdir -p "$work/ro/d"
echo one >"$work/ro/d/f"
chmod 555 "$work/ro/d" "$work/ro"
start_recv twice --dir "$work/dst" --psk-file "$work/psk"
for _ in 1 2; do
    expect 0 "$send" -p --psk-file "$work/psk" "$work/ro" "udtx://127.0.0.1:$port/"
    cmp "$work/ro/d/f" "$work/dst/ro/d/f" || fail "-p over a directory of mode 0555"
    [ "$(stat -c %a "$work/dst/ro/d")" = 555 ] || fail "its mode is not restored"
done
