# F76: the wall clock of both ends jumps by ten years, forward and back, all the time. Transfers, rates and resuming are
# unaffected. A suspended machine: both processes are stopped and continued, and the time has passed for them.
. "$(dirname "$0")/lib.sh"
clock=$(dirname "$checker")/libwall_clock.so
[ -e "$clock" ] || skip "the clock is not built here"
jumping() { LD_PRELOAD=$clock "$@"; }
[ "$(LD_PRELOAD=$clock bash -c 'for i in $(seq 10); do printf "%(%Y)T\n" -1; sleep 0.1; done' | sort -u | wc -l)" -ge 2 ] ||
    fail "the clock does not jump"
make_key
mkdir "$work/dst"
head -c 20000000 /dev/urandom >"$work/data"
printf '#!/bin/sh\nLD_PRELOAD=%s exec %s "$@"\n' "$clock" "$bin/udtx-recv" >"$work/recv"
chmod +x "$work/recv"
recv=$work/recv
start_recv r --timeout 60 --dir "$work/dst" --psk-file "$work/psk"
begun=$(date +%s.%N)
LD_PRELOAD=$clock expect 0 "$send" --json --rate 64M --timeout 60 --psk-file "$work/psk" "$work/data" "udtx://127.0.0.1:$port/"
took=$(awk -v a="$begun" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }')
cmp "$work/data" "$work/dst/data" || fail "the file differs"
reported=$(json_field "$work/last.out" seconds)
awk -v r="$reported" -v t="$took" 'BEGIN { exit !(r >= 2 && r <= t + 1) }' || fail "$reported s are reported of $took"
fault_case F76 "the wall clocks of both ends jump by 10 years every 300 ms: 20 MB at 64 Mbit/s take the usual time" "$took s, $reported s reported"

# Longer than keep-alive and probes, shorter than --timeout.
rm "$work/dst/data"
"$send" --rate 64M --timeout 60 --psk-file "$work/psk" "$work/data" "udtx://127.0.0.1:$port/" 2>"$work/last.err" &
sender=$!
receivers+=("$sender")
begun() { [ -n "$(find "$work/dst" -name '*.part' -size +1000k)" ]; }
until_true 60 begun
stopped=3
kill -STOP "$sender" "$receiver"
sleep $stopped
kill -CONT "$receiver" "$sender"
wait_for 0 "$sender"
cmp "$work/data" "$work/dst/data" || fail "the file differs"
fault_case F76 "both processes stopped during a transfer and continued: the same transfer continues" "stopped for $stopped s, complete"
