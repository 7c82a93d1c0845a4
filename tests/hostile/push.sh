# Clients with a valid key that lie to a server, by pushing and by fetching. Each ends as expected, everything outside
# the directory stays unchanged, and the same process serves an honest client right after it. push.sh TOOLS LYING_CLIENT
. "$(dirname "$0")/../loopback/lib.sh"
. "$(dirname "$0")/liar.sh"
liar=$2
make_key
mkdir -p "$work/ground/target" "$work/ground/outside"
if [ "${HOSTILE_CARRIER:-}" = ssh ]; then
    far_end
else
    start_recv r --dir "$work/ground/target" --psk-file "$work/psk" --allow-read --timeout 60
fi
timeout -k 5 300 "$liar" "$work/psk" "$port" "$work/ground" >"$work/liar.out" 2>"$work/liar.err" ||
    fail "$(cat "$work/liar.err")"
tail -n 1 "$work/liar.out"
[ "${HOSTILE_CARRIER:-}" != ssh ] || exit 0
kill -0 "$receiver" || fail "the server is gone"
kill -TERM "$receiver"
wait_for 0 "$receiver"
! grep -q "$(printf '\033')" "$work/r.log" || fail "a name came to the log as it was sent"

# lies WORDS: prints the number of lies about that, which is at least one.
lies() {
    local count
    count=$(grep -cE "^lie: $1" "$work/liar.out") || fail "no lie is about '$1'"
    echo "$count"
}
through=$(lies "F45 ")
hops=$(lies "F46 ")
leaves=$(lies "(an? )?(absolute )?(hard |symbolic )?(link|device|FIFO|socket)|a (file|directory) (through|in place of) a link")
unasked=$(lies "a (sender|receiver)'s message")
fault_case F44 "false names are refused, and nothing is written outside" "$(grep -oE '^told [0-9]+ lies' "$work/liar.out")"
fault_case F45 "a file through a link that was sent before it fails by name, and the canary is unchanged" "shapes: $through"
fault_case F46 "a file through two links fails by name, and the canary is unchanged" "shapes: $hops"
fault_case F48 "links, devices, FIFOs and files with another name are not followed" "shapes: $leaves"
fault_case F50 "a receiver's message, or one without a request, ends the transfer" "$unasked messages in wrong states"
