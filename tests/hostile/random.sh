# Clients with a valid key that send a good run altered by a seed. The server keeps running, everything outside its
# directory stays unchanged, and a file gets its final name only if it is as announced. An honest client is served right
# after them.
# random.sh TOOLS MAD_CLIENTS [COUNT [FIRST_SEED]]; UDTX_HOSTILE_SEEDS is another count. COUNT 1 replays a seed alone.
seeds=${3:-${UDTX_HOSTILE_SEEDS:-400}}
first=${4:-1}
. "$(dirname "$0")/../loopback/lib.sh"
mad=$2
make_key
# A far end of ssh serves one connection.
over_ssh() { [ "${HOSTILE_CARRIER:-}" = ssh ]; }
if over_ssh; then
    echo "udtx-psk-1 $(printf '\1%.0s' {1..32} | base64)" >"$work/psk"
    export HOSTILE_FAR_END="exec bash '$(dirname "$(realpath "$0")")/near_end.sh' '$recv' '$work/ground/target/' '$work/far.log'"
    port=9
fi
# try COUNT FIRST: runs them against a fresh server.
try() {
    rm -rf "$work/ground"
    mkdir -p "$work/ground/target" "$work/ground/outside"
    local failed=0
    over_ssh || start_recv "r$2" --dir "$work/ground/target" --psk-file "$work/psk" --allow-read --timeout 30
    timeout -k 5 $((300 + $1 / 10)) "$mad" "$work/psk" "$port" "$work/ground" "$1" "$2" >"$work/mad.out" 2>&1 || failed=1
    if over_ssh; then
        # A far end that a signal has ended has crashed.
        ! grep -E "^code (1[3-9][0-9]|2)" "$work/far.log" || failed=1
        return "$failed"
    fi
    kill -0 "$receiver" 2>/dev/null || failed=1
    kill -TERM "$receiver" 2>/dev/null || true
    [ "$failed" -eq 1 ] || wait_for 0 "$receiver"
    return "$failed"
}
if ! try "$seeds" "$first"; then
    cat "$work/mad.out"
    said=$(sed -nE 's/^harm by one of ([0-9]+) to ([0-9]+).*/\1 \2/p' "$work/mad.out")
    for seed in $(seq ${said:-$first $first}); do
        try 1 "$seed" || fail "seed $seed: $(cat "$work/mad.out"); replay: bash $0 $bin $mad 1 $seed"
    done
    fail "none of them does harm alone; replay: bash $0 $bin $mad $seeds $first"
fi
cat "$work/mad.out"
fault_case F05 "a peer that has the key and alters its messages ends only its own connection" "$(cat "$work/mad.out")"
