# A server that lies to clients that fetch: only what was asked for is written, and the transfer ends with the code of
# the lie and the name. pull.sh TOOLS LYING_SERVER
. "$(dirname "$0")/../loopback/lib.sh"
. "$(dirname "$0")/liar.sh"
make_key
printf 'in/a\nmore/\n' >"$work/names"
start_liar "$2"

# The existing files at the receiver, with all their metadata.
state() {
    (cd "$work/dst" && cat keep .profile && stat -c '%n %a %u %g %Y' keep .profile &&
        python3 -c 'import os; print(os.listxattr("keep"))' 2>/dev/null)
}

told=0
while IFS=$'\t' read -r name arguments wanted named; do
    next_lie
    # What an answer says does not depend on TCP.
    [ "${HOSTILE_CARRIER:-}" != tcp ] || [ $((number % 4)) -eq 1 ] || continue
    # Over ssh the flags are in the bootstrap, which the liar does not read, and sources are patterns: no missing name is
    # one that nobody asked for.
    if [ "${HOSTILE_CARRIER:-}" = ssh ]; then
        case "$arguments,$name" in -* | *",it is missing, and so is another one") continue ;; esac
    fi
    rm -rf "$work/dst"
    mkdir -p "$work/dst"
    printf 'mine\n' | tee "$work/dst/keep" "$work/dst/.profile" >/dev/null
    touch -d @1700000000 "$work/dst/keep"
    state >"$work/before"
    read -ra words <<<"${arguments//URL/$place}"
    code=0
    (cd "$work/dst" &&
        timeout -k 5 60 "$recv" "${carrier[@]}" "${words[@]/#names/$work/names}") \
        >"$work/last.out" 2>"$work/last.err" || code=$?
    state | cmp -s - "$work/before" || fail "$name: what was here has changed"
    found=$(cd "$work/dst" && find . -mindepth 1 ! -name '.udtx-*' | LC_ALL=C sort | tr '\n' ' ')
    if [ -z "$named" ]; then
        [ "$code" -eq 0 ] || fail "$name: the truth ends with $code"
        [ "$found" != "./.profile ./keep " ] || fail "$name: nothing came of the truth"
        continue
    fi
    told=$((told + 1))
    [ "$code" -eq "$wanted" ] || fail "$name: exit code $code instead of $wanted; it has $found"
    grep -qF -- "$named" "$work/last.err" || fail "$name: the error does not name $named"
    # What was asked for may have arrived before the lie.
    rest=$(cd "$work/dst" && find . -mindepth 1 ! -path ./keep ! -path ./.profile ! -path ./a.txt ! -path ./dir \
        ! -path ./dir/x ! -path ./copy.txt ! \( -path ./in -type d \) ! -name '.udtx-*' | tr '\n' ' ')
    [ -z "$rest" ] || fail "$name: it left $rest"
    [ ! -d "$work/dst/copy.txt" ] || [ -z "$(ls -A "$work/dst/copy.txt")" ] || fail "$name: something is in copy.txt"
done <"$work/lies"
[ "$told" -gt "$([ "${HOSTILE_CARRIER:-}" = tcp ] && echo 15 || echo 30)" ] || fail "only $told lies were told"
