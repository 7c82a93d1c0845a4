# A receiver that lies to clients that push. No client may report a file as delivered that does not exist; each ends as
# expected, and its sources stay unchanged. receive.sh TOOLS LYING_RECEIVER
. "$(dirname "$0")/../loopback/lib.sh"
. "$(dirname "$0")/liar.sh"
make_key
mkdir "$work/src"
echo hello >"$work/src/a"
echo world >"$work/src/b"
start_liar "$2"

wrong=0
while IFS=$'\t' read -r name codes named; do
    next_lie
    case ${HOSTILE_CARRIER:-} in
        # Two ends take seconds to meet.
        relay) [ $((number % 6)) -eq 1 ] || continue ;;
        # The sender may have sent all before the lie arrives.
        ssh) case $name in "confirmed before it was sent" | "a second stream") continue ;; esac ;;
    esac
    code=0
    send_to_liar "$work/src" </dev/null || code=$?
    [[ "$code" =~ ^($codes)$ ]] || { echo "'$name': exit code $code instead of $codes: $(tail -n 1 "$work/last.err")"; wrong=1; }
    grep -qF -- "$named" "$work/last.err" || { echo "'$name': the error does not name '$named': $(tail -n 1 "$work/last.err")"; wrong=1; }
    ! grep -q "$(printf '\033')" "$work/last.err" "$work/last.out" || { echo "'$name': a name came as it was sent"; wrong=1; }
    [ "$(cat "$work/src/a" "$work/src/b")" = $'hello\nworld' ] || fail "'$name': the sources have changed"
done < <(sed 's/\t\t/\t \t/; s/\t$/\t /' "$work/lies")

# A stream has no entries, but still counts as one file.
number=$(($(grep -n '^nothing of what was sent' "$work/lies" | cut -d: -f1) - 1))
next_lie
echo hello >"$work/hello"
code=0
send_to_liar - stream <"$work/hello" || code=$?
[ "$code" -eq 12 ] || fail "a stream: exit code $code instead of 12"
said "another size than that of the stream"
number=$(wc -l <"$work/lies")
[ "$wrong" -eq 0 ] || fail "wrong ends"
[ "$number" -gt 40 ] || fail "only $number lies were told"
