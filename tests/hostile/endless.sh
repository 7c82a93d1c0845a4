# A very long list of files costs the server no memory. endless.sh TOOLS ENDLESS_CLIENT [ENTRIES]
# UDTX_HOSTILE_ENTRIES replaces the default of 100,000 entries; the fault matrix requires 10,000,000.
entries=${3:-${UDTX_HOSTILE_ENTRIES:-100000}}
. "$(dirname "$0")/../loopback/lib.sh"
. "$(dirname "$0")/liar.sh"
endless=$2
[ -r /proc/self/status ] || skip "no /proc to read the memory of a process in"
make_key
mkdir "$work/dst"
echo mine >"$work/dst/keep"  # so that the server answers queries
if has_far_end; then far_end "$work/dst"; else start_recv r --dir "$work/dst" --psk-file "$work/psk"; fi
timeout -k 5 $((300 + entries / 5000)) "$endless" "$work/psk" "$port" "$entries" >"$work/last.out" 2>"$work/last.err" ||
    fail "$(cat "$work/last.err")"
grep -qx "confirmed $entries" "$work/last.out" || fail "not all of them failed by name: $(cat "$work/last.out")"
if has_far_end; then
    peak=$(sed -n 's/^far end: code 23, \([0-9]*\) MiB$/\1/p' "$work/last.out")
    [ "${peak:-1000}" -le 244 ] || fail "the far end: $(cat "$work/last.out")"
    echo "a list of $entries entries: the far end took $peak MiB"
    exit 0
fi
peak=$(awk '/^VmHWM/ { print int($2 / 1024) }' "/proc/$receiver/status")
[ "$peak" -le 244 ] || fail "the server took $peak MiB"  # 256 MB
kill -TERM "$receiver"
wait_for 0 "$receiver"
fault_case F43 "a manifest of $entries entries: RSS of the receiver at most 256 MB" "$peak MiB"
