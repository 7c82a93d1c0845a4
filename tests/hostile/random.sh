# Clients with a valid key that send a good run altered by a seed. The server keeps running, everything outside its
# directory stays unchanged, and a file gets its final name only if it is as announced. An honest client is served right
# after them.
# random.sh TOOLS MAD_CLIENTS [COUNT [FIRST_SEED]]; UDTX_HOSTILE_SEEDS is another count. COUNT 1 replays a seed alone.
seeds=${3:-${UDTX_HOSTILE_SEEDS:-400}}
first=${4:-1}
. "$(dirname "$0")/../loopback/lib.sh"
. "$(dirname "$0")/liar.sh"
mad=$2
make_key
over_ssh() { [ "${HOSTILE_CARRIER:-}" = ssh ]; }
if over_ssh; then
    far_end
    seeds=${3:-${UDTX_HOSTILE_SEEDS:-200}}  # each of them starts a process
fi
# A session at a relay is for one client: each has a process and a directory.
if [ "${HOSTILE_CARRIER:-}" = relay ]; then
    far_end
    pids=()
    seeds=${3:-16}  # a relay lets one address join 20 times in a minute
    for seed in $(seq "$first" $((first + seeds - 1))); do
        mkdir -p "$work/ground$seed/target" "$work/ground$seed/outside"
        HOSTILE_FAR_DIR=$work/ground$seed/target HOSTILE_FAR_LOG=$work/far$seed.log \
            timeout -k 5 60 "$mad" relay "$port" "$work/ground$seed" 1 "$seed" >"$work/mad$seed.out" 2>&1 &
        pids+=("$!")
    done
    receivers+=("${pids[@]}")
    for i in "${!pids[@]}"; do
        seed=$((first + i))
        wait "${pids[i]}" || fail "seed $seed: $(cat "$work/mad$seed.out"); replay: HOSTILE_CARRIER=relay bash $0 $bin $mad 1 $seed"
        # Code 0 comes with the counts of what has arrived, another code with its reason.
        words='^udtx-recv: '
        ! grep -q "1 with code 0" "$work/mad$seed.out" || words='^udtx-recv: [0-9]+ files?'
        tail -n 1 "$work/far$seed.log" | grep -qE "$words" || fail "seed $seed: the receiver says $(cat "$work/far$seed.log")"
    done
    kill -TERM "$receiver"
    wait_for 0 "$receiver"
    echo "$seeds seeds; each receiver ended"
    exit 0
fi
# try COUNT FIRST: runs them against a fresh server.
try() {
    rm -rf "$work/ground"
    mkdir -p "$work/ground/target" "$work/ground/outside"
    local failed=0
    over_ssh || start_recv "r$2" --dir "$work/ground/target" --psk-file "$work/psk" --allow-read --timeout 30
    timeout -k 5 $((300 + $1 / 10)) "$mad" "$work/psk" "$port" "$work/ground" "$1" "$2" >"$work/mad.out" 2>&1 || failed=1
    ! over_ssh || return "$failed"
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
