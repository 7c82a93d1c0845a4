# F47: a directory of the target turns into a link that leads outside, and back, 100,000 times while files are written below it.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip "needs python3"
flips=20000
[ -z "$whole" ] || flips=100000
make_key
mkdir -p "$work/src/d/e" "$work/dst/src/d" "$work/outside"
echo canary >"$work/outside/f1"
ln -s "$work/outside" "$work/dst/link"
start_recv r --dir "$work/dst" --psk-file "$work/psk"
cat >"$work/flip.py" <<'PY'
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
here, there, count = sys.argv[1].encode(), sys.argv[2].encode(), int(sys.argv[3])
done = 0
while done < count:
    if libc.syscall(316 if os.uname().machine == "x86_64" else 276, -100, here, -100, there, 2) == 0:  # RENAME_EXCHANGE
        done += 1
    time.sleep(0.00005)
print(done)
PY
timeout 500 python3 "$work/flip.py" "$work/dst/src/d" "$work/dst/link" $flips >"$work/flips" &
flipper=$!
receivers+=("$flipper")
rounds=0
odd=0
while kill -0 $flipper 2>/dev/null; do
    rounds=$((rounds + 1))
    for i in $(seq 200); do  # what is the same would not be written
        echo "$rounds" >"$work/src/d/f$i"
        echo "$rounds" >"$work/src/d/e/g$i"
    done
    got=0
    timeout 120 "$send" --psk-file "$work/psk" "$work/src" "udtx://127.0.0.1:$port/" 2>"$work/last.err" || got=$?
    [[ $got =~ ^(0|11|12|23)$ ]] || fail "exit code $got"
    [ $got -eq 0 ] || odd=$((odd + 1))
done
wait_for 0 $flipper
[ $odd -gt 0 ] || fail "no transfer met a flip"
outside=$(find "$work/outside" -mindepth 1 ! -name f1 | wc -l)
[ "$outside" -eq 0 ] && [ "$(cat "$work/outside/f1")" = canary ] || fail "$outside files outside, the canary says $(cat "$work/outside/f1")"
fault_case F47 "a parent turns into a link outside and back (20,000 times; 10^5 in the whole matrix): canary untouched" \
    "$(cat "$work/flips") flips, $rounds transfers of 400 files, $odd of them refused, $outside files outside"
