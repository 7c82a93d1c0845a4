# Progress on request; and a name with escape sequences never reaches the screen unchanged.
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/dst"
name=$work/$(printf 'x\033[31m\n.bin')
head -c 4000000 /dev/urandom >"$name"
start_recv r --one-off --dir "$work/dst" --psk-file "$work/psk"
expect 0 "$send" -v --progress --log "$work/file-log" --rate 16M --psk-file "$work/psk" "$name" "udtx://127.0.0.1:$port/"
wait_for 0 "$receiver"
said "% +.*MB/4.00 MB.*bit/s.*files"
said "^udtx-send: 1 file, 4.00 MB in"
said "lost [0-9]+ of .*RTT .*udt"
grep -q 'udtx-send.*1 file' "$work/file-log" || fail "--log"
! grep -q "$(printf '\033')" "$work/last.err" || fail "an escape sequence reached the terminal"
! grep -q "$(printf '\033')" "$work/file-log" "$work/r.log" || fail "an escape sequence reached a log"
# Names in messages: one of a delivered file and one of a missing file.
start_recv said -v --json --one-off --dir "$work/dst" --psk-file "$work/psk"
expect 23 "$send" -v --json --psk-file "$work/psk" "$name" "$work/$(printf 'gone\033]0;x\a\n')" "udtx://127.0.0.1:$port/"
wait_for "0|23" "$receiver"
shown=$(cat "$work"/last.{err,out} "$work"/said.{log,out} | grep -c 'x1b\|u001b')
[ "$shown" -ge 1 ] || fail "the names are not shown at all"
raw=$(cat "$work"/last.{err,out} "$work"/said.{log,out} "$work/file-log" "$work/r.log" | LC_ALL=C tr -d '[:print:]\n\t\200-\377' | wc -c)
[ "$raw" -eq 0 ] || fail "$raw control characters reached the terminal, the log or JSON"
fault_case F51 "escapes and newlines in names: 0 control characters on terminal, log and JSON" "$shown lines with such names, $raw control characters"

echo x >"$work/small"
start_recv second --one-off --dir "$work/dst" --psk-file "$work/psk"
expect 0 "$send" -q --psk-file "$work/psk" "$work/small" "udtx://127.0.0.1:$port/"
[ ! -s "$work/last.err" ] && [ ! -s "$work/last.out" ] || fail "-q is not quiet"

# In each direction the receiver knows the totals from the first second on: percentages refer to the whole.
mkdir "$work/many"
for i in $(seq 24); do head -c 2500000 /dev/zero >"$work/many/f$i"; done
knows_all() {  # FILE
    grep '"event":"progress"' "$1" | grep '"phase":"transfer"' >"$work/samples" || fail "no progress in $1"
    while read -r line; do
        [[ $line =~ \"bytes_total\":60000000, && $line =~ \"files_total\":24, && $line =~ \"totals_final\":true ]] ||
            fail "the total is not known: $line"
        [[ $line =~ \"bytes_done\":([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -lt 60000000 ] || fail "it was over: $line"
    done <"$work/samples"
}
start_recv third --one-off --json-stream --allow-read --dir "$work/dst" --psk-file "$work/psk"
expect 0 "$send" --rate 200M --psk-file "$work/psk" "$work/many" "udtx://127.0.0.1:$port/"
wait_for 0 "$receiver"
knows_all "$work/third.out"
start_recv fourth --one-off --allow-read --dir "$work/dst" --psk-file "$work/psk" --rate 200M
expect 0 "$recv" --json-stream --psk-file "$work/psk" "udtx://127.0.0.1:$port/many" "$work/got"
knows_all "$work/last.out"

# The log of a script gets one line for each run; -v, --progress and --stats ask for more.
echo abc >"$work/small"
start_recv short --dir "$work/dst" --psk-file "$work/psk"
expect 0 "$send" --psk-file "$work/psk" "$work/small" "udtx://127.0.0.1:$port/"
[ "$(wc -l <"$work/last.err")" -eq 1 ] || fail "not one line: $(cat "$work/last.err")"
said "^udtx-send: 1 file, 4 B in"
expect 0 "$send" -v --psk-file "$work/psk" "$work/small" "udtx://127.0.0.1:$port/"
said "lost [0-9]+ of .*RTT"
