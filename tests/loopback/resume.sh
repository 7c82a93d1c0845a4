# kill -9 of either side at any point, then the same command: the trees are identical, and almost nothing is sent twice.
# Changes and damage between the runs are found. The whole matrix (or UDTX_KILL_POINTS=20) kills at more points, and
# uses a file that is larger than the amount that may be sent again; the small file may be smaller.
. "$(dirname "$0")/lib.sh"
make_key
limit=$((24 << 20))
[ -z "$whole" ] || UDTX_KILL_POINTS=${UDTX_KILL_POINTS:-600}
mkdir -p "$work/src/small"
size=48000000
rate=300M
if [ -n "${UDTX_KILL_POINTS:-}" ]; then
    limit=$((64 << 20))
    size=400000000
    rate=1500M
fi
head -c "$size" /dev/urandom >"$work/src/big"
for i in $(seq 40); do head -c 100000 /dev/urandom >"$work/src/small/f$i"; done
total=$((size + 40 * 100000))
both=(--timeout 600 --json --psk-file "$work/psk")

fresh() {
    rm -rf "$work/dst"
    mkdir "$work/dst"
}
serve() { start_recv "$1" "${@:2}" "${both[@]}" --dir "$work/dst"; }
stop_receiver() {
    kill -"$1" "$receiver"
    wait_for "130|137" "$receiver"
}
begin_send() {
    takes_int "$send" --rate "$rate" "${both[@]}" "$work/src/big" "$work/src/small" "udtx://127.0.0.1:$port/" >"$work/send.out" \
        2>"$work/last.err" &
    sender=$!
    receivers+=("$sender")
}
send_all() { expect 0 "$send" "${both[@]}" "$@" "$work/src/big" "$work/src/small" "udtx://127.0.0.1:$port/"; }
sent() { json_field "$work/last.out" sent_bytes; }
resumed() { json_field "$work/last.out" resumed_bytes; }
# Also checks that no temporary files are left
same_tree() { diff -r "$work/src" "$work/dst" || fail "the trees differ"; }
part() { find "$work/dst" -name '.*.part'; }
# Bytes that the receiver has written to its disk: it reserves space without extending the file's size.
written() { find "$work/dst" -type f \( -name '.udtx-*.part' -o -name big -o -name 'f*' \) -printf '%s\n' | awk '{ n += $1 } END { print n + 0 }'; }
has_written() { [ "$(written)" -ge "$1" ]; }
# The record of a piece takes about 37 bytes.
journal_has() { [ "$(find "$work/dst" -name '*.journal' -size "+${1}c" | wc -l)" -gt 0 ]; }

# --- killed at various points of the transfer: the sender, the receiver, or both at once
points=${UDTX_KILL_POINTS:-6}
declare -A worst=([sender]=0 [receiver]=0 [both]=0) times=([sender]=0 [receiver]=0 [both]=0)
for point in $(seq "$points"); do
    fresh
    serve "killed-$point"
    begin_send
    until_true 90 has_written $((point * (size - 16000000) / points))
    case $((point % 3)) in
        0) victim=sender; kill -KILL "$sender" ;;
        1) victim=receiver; kill -KILL "$receiver" ;;
        2) victim=both; kill -KILL "$sender" "$receiver" ;;
    esac
    [ $victim = sender ] || wait_for 137 "$receiver"
    before=$(written)
    if [ $victim != sender ]; then
        kill -KILL "$sender" 2>/dev/null || true
        serve "again-$point"
    fi
    wait_for 137 "$sender"
    [ $victim != sender ] || before=$(written)
    send_all
    same_tree
    # The sender may send one block before the receiver reports what it has. The receiver syncs every 8 MiB.
    both_parts=$(($(sent) + $(resumed)))
    [ "$both_parts" -ge "$total" ] && [ "$both_parts" -le $((total + 1048576)) ] ||
        fail "$(sent) sent and $(resumed) resumed do not make the whole"
    again=$((before - $(resumed)))
    echo "point $point of $points, kill -9 of the $victim: $before bytes were written, $again of them sent again"
    [ $again -le "$limit" ] || fail "more than $limit bytes were sent again"
    [ $victim = sender ] || [ "$(resumed)" -ge $((before - limit / 2)) ] || fail "of $before bytes $(resumed) were resumed"
    [ "$(resumed)" -gt 0 ] || [ "$point" -lt "$points" ] || fail "nothing was resumed"
    [ $again -le "${worst[$victim]}" ] || worst[$victim]=$again
    times[$victim]=$((times[$victim] + 1))
    stop_receiver INT
done
fault_case F62 "kill -9 of the receiver (200 points in the whole matrix): at most $((limit >> 20)) MiB sent again" \
    "${times[receiver]} points, ${worst[receiver]} bytes at most"
fault_case F63 "kill -9 of the sender (200 points in the whole matrix): at most $((limit >> 20)) MiB sent again" \
    "${times[sender]} points, ${worst[sender]} bytes at most"
fault_case F64 "kill -9 of both at once (200 points in the whole matrix): at most $((limit >> 20)) MiB sent again" \
    "${times[both]} points, ${worst[both]} bytes at most"

# --- Ctrl-C leaves a transfer that can be continued
fresh
serve interrupted
begin_send
until_true 90 has_written 30000000
kill -INT "$sender"
wait_for 130 "$sender"
said "the same command continues"
first=$(json_field "$work/send.out" sent_bytes)
[ "$(json_field "$work/send.out" confirmed)" = true ] || first=0
[ -n "$(part)" ] || fail "nothing was left to continue"
stop_receiver INT
serve restarted
send_all
same_tree
# After Ctrl-C all written data is in the journal. One block may be sent before the receiver reports that.
[ $(($(sent) + first)) -le $((total + 8000000)) ] || fail "$first and $(sent) bytes of $total were sent"
said "were there already"
stop_receiver INT

# cut_off NAME: leaves a part of the big file, which is complete in the journal, and ends the receiver.
cut_off() {
    fresh
    serve "$1"
    begin_send
    until_true 90 journal_has 800
    kill -INT "$sender"
    wait_for 130 "$sender"
    stop_receiver INT
    [ -n "$(part)" ] || fail "nothing was left to continue"
}

# --- the source changed, a bit flipped in the partial file, and the journal is torn: only the differences are sent
cut_off before-changes
printf 'changed' | dd of="$work/src/big" bs=1 seek=9000000 conv=notrunc status=none
printf '\xa5\x5a\xa5\x5a' | dd of="$(part)" bs=1 seek=7000000 conv=notrunc status=none
printf 'torn by a power cut' >>"$(find "$work/dst" -name '*.journal')"
serve after-changes
send_all
same_tree
said "damaged at byte"
said "damaged on disk"
fault_case F58 "real processes, 4 changed bytes in a partial file: found, and the rest is resumed" "$(resumed) bytes resumed, $(sent) sent"
[ "$(resumed)" -gt 8000000 ] || fail "two pieces cost everything: $(resumed) bytes were resumed"
stop_receiver INT

# --- an identical file that appeared meanwhile is kept, whatever an earlier run left of it
cut_off before-copy
cp -p "$work/src/big" "$work/dst/big"
serve after-copy
send_all
same_tree
[ "$(resumed)" -eq 0 ] && [ "$(sent)" -le $((total - size + 1048576)) ] || fail "$(sent) bytes were sent of what stood there"
stop_receiver INT

# --- an invalid journal
cut_off before-garbage
head -c 3000 /dev/urandom >"$(find "$work/dst" -name '*.journal')"
serve after-garbage
send_all
same_tree
said "is damaged; everything is sent"
fault_case F60 "real processes, a journal of random bytes: ignored, and reported" "$(resumed) bytes resumed"
[ "$(resumed)" -eq 0 ] || fail "garbage was believed"
stop_receiver INT

# --- --no-resume starts from scratch on either side, and files of other transfers stay
cut_off before-anew
echo theirs >"$work/dst/.other.udtx-0123456789abcdef.part"
serve anew --no-resume
send_all
said "runs with --no-resume"
[ "$(resumed)" -eq 0 ] || fail "--no-resume resumed"
stop_receiver INT
serve anew-sender
send_all --no-resume
[ "$(resumed)" -eq 0 ] || fail "--no-resume resumed"
cmp "$work/src/big" "$work/dst/big" || fail "the files differ"
[ "$(cat "$work/dst/.other.udtx-0123456789abcdef.part")" = theirs ] || fail "another transfer's file was touched"
stop_receiver INT
