# A parent directory is exchanged with a link to elsewhere, again and again, while real transfers write below it. The
# target of the link must stay unchanged.
# flip.sh TOOLS FLIP_PARENT; UDTX_HOSTILE_FLIPS replaces the default of 10,000 exchanges.
flips=${UDTX_HOSTILE_FLIPS:-10000}
[ -z "${UDTX_WHOLE_MATRIX:-}" ] || flips=100000
. "$(dirname "$0")/../loopback/lib.sh"
flip=$2
make_key
mkdir -p "$work/dst/d/deep" "$work/outside/deep" "$work/src/d/deep"
echo alive >"$work/outside/canary"
echo alive >"$work/outside/deep/canary"
ln -s "$work/outside" "$work/dst/link"
for i in $(seq 40); do
    echo "$i" >"$work/src/d/f$i"
    echo "$i" >"$work/src/d/deep/f$i"
done
echo evil | tee "$work/src/d/canary" >"$work/src/d/deep/canary"
cp -r "$work/dst" "$work/trial.d"
echo 0 | "$flip" "$work/trial.d/d" "$work/trial.d/link" 1 >"$work/last.out" 2>"$work/last.err" || skip "names cannot be exchanged here"
start_recv r --dir "$work/dst" --psk-file "$work/psk"

mkfifo "$work/stop"
"$flip" "$work/dst/d" "$work/dst/link" "$flips" <"$work/stop" >"$work/flips" 2>"$work/flip.err" &
flipper=$!
receivers+=("$flipper")
exec 7>"$work/stop"

# unharmed: the target of the link has only its canaries.
unharmed() {
    [ "$(find "$work/outside" | LC_ALL=C sort | tr '\n' ' ')" = \
        "$work/outside $work/outside/canary $work/outside/deep $work/outside/deep/canary " ] || fail "outside has $(find "$work/outside")"
    [ "$(cat "$work/outside/canary" "$work/outside/deep/canary")" = $'alive\nalive' ] || fail "a canary has changed"
}
runs=0
# push OVERWRITE DESTINATION SOURCE
push() {
    local code=0
    timeout -k 5 60 "$send" --psk-file "$work/psk" --overwrite "$1" "$3" "udtx://127.0.0.1:$port/$2" \
        >"$work/last.out" 2>"$work/last.err" || code=$?
    [[ "$code" =~ ^(0|11|23)$ ]] || fail "a push ended with $code"
    unharmed
    runs=$((runs + 1))
}
until [ "$runs" -ge 9 ] && grep -q enough "$work/flips"; do
    kill -0 "$flipper" || fail "$(cat "$work/flip.err")"
    push always "" "$work/src/d"
    push diff "" "$work/src/d"
    push always d/deep "$work/src/d/"
done
echo >&7
exec 7>&-
wait_for 0 "$flipper"
unharmed
kill -TERM "$receiver"
wait_for 0 "$receiver"
unharmed
fault_case F47 "a parent flips at least $flips times during real transfers: the canaries are unchanged" "$(tail -n 1 "$work/flips") flips, $runs transfers"
fault_case F49 "temporary files and journals of those transfers: none reaches the target of the link" "$runs transfers"
