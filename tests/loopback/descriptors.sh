# Started with standard descriptors closed or full: never a hang, never a success that was none.
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/dst"
echo x >"$work/file"
start_recv r --dir "$work/dst" --psk-file "$work/psk"
url=udtx://127.0.0.1:$port/

# Our own pipes and sockets must not take the numbers of closed descriptors.
expect 11 bash -c "'$send' --psk-file '$work/psk' - '${url}name' <&-"
said "standard input is closed"
expect 0 bash -c "'$send' --psk-file '$work/psk' '$work/file' '$url' <&- >&-"
cmp "$work/file" "$work/dst/file" || fail "the file did not arrive"
expect 0 bash -c "'$send' --psk-file '$work/psk' '$work/file' '${url}quiet' 2>&- <&-"
cmp "$work/file" "$work/dst/quiet/file" || fail "the file did not arrive without standard error"
expect 11 bash -c "'$recv' --listen 127.0.0.1:0 --one-off --psk-file '$work/psk' - >&-"
said "standard output is closed"
expect 11 bash -c "'$send' --json --psk-file '$work/psk' '$work/file' '$url' >&-"
said "standard output.*closed"

# What was asked for and cannot be written is an error.
one_line() { [ "$(grep -c -- "$1" "$work/last.err")" -eq 1 ] || fail "not one line about it"; }
if [ -w /dev/full ]; then
    expect 11 bash -c "'$send' --json --psk-file '$work/psk' '$work/file' '$url' >/dev/full"
    one_line "cannot write to standard output: No space"
    expect 11 bash -c "'$send' --help >/dev/full"
    one_line "cannot write to standard output"
    expect 11 "$send" --log /dev/full --psk-file "$work/psk" "$work/file" "$url"
    one_line "--log: cannot write the log /dev/full: No space"
    expect 11 "$recv" --listen 127.0.0.1:0 --log /dev/full --dir "$work/dst" --psk-file "$work/psk"
    one_line "--log: cannot write the log /dev/full: No space"
    # Another error keeps its own code.
    expect 1 bash -c "'$send' --json --rat 5 x '$url' >/dev/full"
fi
