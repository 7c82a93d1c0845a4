# Keys: made with mode 0600 and never overwritten. Wrong, exposed and missing keys are refused.
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/dst"
echo x >"$work/file"
[ "$(stat -c %a "$work/psk")" = 600 ] || fail "mode of the key"
cp "$work/psk" "$work/before"
expect 1 "$send" keygen "$work/psk"
said "exists and is not overwritten"
cmp "$work/psk" "$work/before" || fail "keygen changed a key"
"$send" keygen "$work/other" 2>/dev/null

start_recv r --dir "$work/dst" --psk-file "$work/psk"
expect 40 "$send" --psk-file "$work/other" "$work/file" "udtx://127.0.0.1:$port/"
never_said "same command"
said "same --psk-file"
[ "$(wc -l <"$work/last.err")" -eq 1 ] || fail "more than one line"
until_true 90 grep -q "refused 127.0.0.1:.*pre-shared key.*same --psk-file" "$work/r.log"
[ -z "$(ls -A "$work/dst")" ] || fail "something arrived with a wrong key"
cp "$work/psk" "$work/exposed"
chmod 644 "$work/exposed"
expect 40 "$send" --psk-file "$work/exposed" "$work/file" "udtx://127.0.0.1:$port/"
said "exposed"
echo "udtx-psk-1 damaged" >"$work/damaged"
chmod 600 "$work/damaged"
expect 40 "$send" --psk-file "$work/damaged" "$work/file" "udtx://127.0.0.1:$port/"
said "psk-file: .*damaged is not a complete key file.*keygen"
expect 40 "$recv" --listen 127.0.0.1:0 --dir "$work/dst" --psk-file "$work/damaged"
said "damaged is not a complete key file"
expect 11 "$send" --psk-file "$work/none" "$work/file" "udtx://127.0.0.1:$port/"
said "none"
# The receiver has survived all these attempts.
expect 0 "$send" --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/"
cmp "$work/file" "$work/dst/file"

for name in alice bob eve; do "$send" keygen --identity "$work/$name" 2>/dev/null; done
[ "$(stat -c %a "$work/alice")" = 600 ] || fail "mode of the identity"
cat "$work/alice.pub" >"$work/allowed"
start_recv pinned --dir "$work/dst" --identity "$work/bob" --authorized-keys "$work/allowed"
echo y >"$work/second"
expect 0 "$send" --identity "$work/alice" --pin "$work/bob.pub" "$work/second" "udtx://127.0.0.1:$port/"
cmp "$work/second" "$work/dst/second"
expect 0 "$send" --identity "$work/alice" --pin "$(cat "$work/bob.pub")" "$work/second" "udtx://127.0.0.1:$port/"
echo z >"$work/third"
expect 40 "$send" --identity "$work/alice" --pin "$work/eve.pub" "$work/third" "udtx://127.0.0.1:$port/"
said "--pin"
expect 40 "$send" --identity "$work/eve" --pin "$work/bob.pub" "$work/third" "udtx://127.0.0.1:$port/"
never_said "same command"
until_true 90 grep -q "refused 127.0.0.1:.*authorized-keys" "$work/pinned.log"
expect 11 "$send" --identity "$work/alice" --pin "no such key" "$work/third" "udtx://127.0.0.1:$port/"
said "pin.*no such key.*udtx-ed25519"
expect 40 "$send" --psk-file "$work/psk" "$work/third" "udtx://127.0.0.1:$port/"
[ ! -e "$work/dst/third" ] || fail "a stranger delivered a file"
fault_case F10 "real processes, wrong pin, unknown key, wrong kind of key: refused without a file" \
    "$(find "$work/dst" -name 'third*' | wc -l) files of strangers"

# F65: a transfer belongs to its key: the same command with another key neither stops nor continues it.
cat "$work/alice.pub" "$work/eve.pub" >"$work/allowed"
mkdir -p "$work/both"
start_recv both --dir "$work/both" --identity "$work/bob" --authorized-keys "$work/allowed"
head -c 12000000 /dev/urandom >"$work/large"
as() { "$send" --identity "$work/$1" --pin "$work/bob.pub" "${@:2}" "$work/large" "udtx://127.0.0.1:$port/new/"; }
as alice --rate 24M >"$work/alice.out" 2>"$work/alice.err" &
first=$!
receivers+=("$first")
begun() { [ -n "$(find "$work/both" -name '*.part' -size +1000k)" ]; }
until_true 60 begun
as eve --json >"$work/last.out" 2>"$work/last.err" || fail "the other key's transfer ended with $?"
resumed=$(json_field "$work/last.out" resumed_bytes)
[ "$resumed" -eq 0 ] || fail "another key continued the transfer"
wait_for 0 "$first"
cmp "$work/large" "$work/both/new/large" || fail "the two transfers made something else of the file"
[ -z "$(find "$work/both" -name '.udtx-*')" ] || fail "something was left: $(find "$work/both" -name '.udtx-*')"
fault_case F65 "the same command with another key: starts again, and both transfers complete" "$resumed bytes continued, both whole"

# A key may come from a pipe, also late. One that nobody writes to does not hold the program.
mkfifo -m 600 "$work/pipe"
expect 11 "$send" --psk-file "$work/pipe" "$work/file" "udtx://127.0.0.1:$port/"
said "cannot read key file .*pipe: Connection timed out"
(sleep 1 && cat "$work/theirs.psk" >"$work/pipe") &
"$send" keygen "$work/theirs.psk" 2>/dev/null
expect 40 "$send" --psk-file "$work/pipe" "$work/file" "udtx://127.0.0.1:$port/"
never_said "cannot read"

# root uses no key file of another user.
chmod 755 "$work"
mkdir -m 777 "$work/theirs"
as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
if [ "$(id -u)" -eq 0 ] && "${as_user[@]}" "$send" keygen "$work/theirs/key" 2>/dev/null; then
    SUDO_UID='' expect 40 "$send" --psk-file "$work/theirs/key" "$work/file" "udtx://127.0.0.1:$port/"
    said "belongs to another user"
fi
