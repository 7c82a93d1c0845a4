# The system refuses to receive, for ever: an end pauses longer each time instead of spinning, says so once, and ends
# with the cause. If the calls work again soon, nothing happens.
. "$(dirname "$0")/lib.sh"
need_strace
make_key
mkdir "$work/dst"
head -c 100000 /dev/urandom >"$work/file"
# run_deaf OUT WHEN COMMAND...: recvmmsg fails with ENOMEM, as often as WHEN says (strace(1))
run_deaf() {
    local out=$1 when=$2
    shift 2
    exec strace -f -qq -o "$out" -e trace=recvmmsg -e "inject=recvmmsg:error=ENOMEM:when=$when" "$@"
}

run_deaf "$work/calls" 1+ "$recv" --listen 127.0.0.1:0 --sandbox off --dir "$work/dst" --psk-file "$work/psk" 2>"$work/deaf.log" &
receiver=$!
receivers+=("$receiver")
until_true 60 grep -q "listening on" "$work/deaf.log"
port=$(sed -nE 's/^udtx-recv: listening on .*:([0-9]+)\/udp.*/\1/p' "$work/deaf.log")
"$send" --transport udp --timeout 30 --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/" 2>"$work/last.err" &
sender=$!
receivers+=("$sender")
wait_for 10 "$receiver"
[ "$(grep -c 'refuses to receive on the UDP socket: Cannot allocate memory; trying again' "$work/deaf.log")" -eq 1 ] || fail "not one line about it"
tail -n 1 "$work/deaf.log" | grep -q "refuses to receive on the UDP socket: Cannot allocate memory" || fail "the server does not end with the cause"
calls=$(grep -c INJECTED "$work/calls")
echo "$calls calls"
[ "$calls" -ge 5 ] || fail "it tried $calls times only"
[ "$calls" -le 100 ] || fail "it spins"
wait_for "10|42" "$sender"

# A sender that receives nothing
start_recv good --dir "$work/dst" --psk-file "$work/psk"
run_deaf "$work/calls" 1+ "$send" --transport udp --timeout 60 --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/" 2>"$work/last.err" &
sender=$!
wait_for 10 "$sender"
said "the system refuses to receive on the UDP socket: Cannot allocate memory"
[ "$(grep -c INJECTED "$work/calls")" -le 100 ] || fail "the sender spins"
# Ten failures in a row, and then memory again
run_deaf "$work/calls" 1..10 "$send" --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/" 2>"$work/last.err" &
sender=$!
wait_for 0 "$sender"
cmp "$work/file" "$work/dst/file" || fail "the file differs"
