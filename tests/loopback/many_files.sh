# F80: many small files, 10,000 or in the whole matrix a million of 1 KB: memory and descriptors of both ends are
# bounded.
. "$(dirname "$0")/lib.sh"
make_key
mkdir -p "$work/dst" "$work/src"
directories=100
[ -z "$whole" ] || directories=10000
for d in $(seq $directories); do
    mkdir "$work/src/$d"
    (cd "$work/src/$d" && seq 100000 120475 | split -l 205 -a 3 - f)  # 100 files of 1,435 bytes
done
files=$((directories * 100))
[ "$(find "$work/src" -type f | wc -l)" -eq $files ] || fail "the test made the wrong number of files"
start_recv r --one-off --dir "$work/dst" --psk-file "$work/psk"

# watch PID FILE: writes the peak memory (KiB) and the most descriptors of a process, until it ends.
watch() {
    local peak=0 fds=0 now most=0
    while now=$(awk '/^VmHWM:/ { print $2 }' "/proc/$1/status" 2>/dev/null) && [ -n "$now" ]; do
        peak=$now
        fds=$(find "/proc/$1/fd" -mindepth 1 2>/dev/null | wc -l) || true
        [ "$fds" -le $most ] || most=$fds
        echo "$peak $most" >"$2"
        sleep 0.05
    done
}
watch "$receiver" "$work/receiver.most" &
watching=$!
"$send" --json --psk-file "$work/psk" "$work/src" "udtx://127.0.0.1:$port/" >"$work/last.out" 2>"$work/last.err" &
sender=$!
receivers+=("$watching" "$sender")
watch "$sender" "$work/sender.most"
for pid in "$sender" "$receiver" "$watching"; do wait "$pid" || fail "a process ended with $?"; done
diff -r "$work/src" "$work/dst/src" || fail "the trees differ"
[ "$(json_field "$work/last.out" files)" -eq $files ] || fail "the report counts otherwise"
for end in sender receiver; do
    read -r peak fds <"$work/$end.most"
    # A sanitizer uses additional memory.
    [ "$peak" -le 262144 ] || sanitized || fail "the $end took $peak KiB"
    [ "$fds" -le 256 ] || fail "the $end had $fds descriptors"
    fault_case F80 "$end of 10,000 files of 1 KB (10^6 in the whole matrix): RSS at most 256 MiB, 256 descriptors" \
        "$files files: $((peak / 1024)) MiB, $fds descriptors"
done
