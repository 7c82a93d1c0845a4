# Keys: made with mode 0600 and never overwritten; wrong, exposed and missing ones are refused.
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/dst"
echo x >"$work/file"
[ "$(stat -c %a "$work/psk")" = 600 ] || fail "mode of the key"
cp "$work/psk" "$work/before"
"$send" keygen "$work/psk" 2>/dev/null && fail "keygen overwrote a key"
cmp "$work/psk" "$work/before" || fail "keygen changed a key"
"$send" keygen "$work/other" 2>/dev/null

start_recv r --dir "$work/dst" --psk-file "$work/psk"
expect 40 "$send" --psk-file "$work/other" "$work/file" "udtx://127.0.0.1:$port/"
said "same --psk-file"
[ -z "$(ls -A "$work/dst")" ] || fail "something arrived with a wrong key"
cp "$work/psk" "$work/exposed"
chmod 644 "$work/exposed"
expect 40 "$send" --psk-file "$work/exposed" "$work/file" "udtx://127.0.0.1:$port/"
said "exposed"
expect 11 "$send" --psk-file "$work/none" "$work/file" "udtx://127.0.0.1:$port/"
said "none"
# The receiver has survived all that.
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
expect 40 "$send" --psk-file "$work/psk" "$work/third" "udtx://127.0.0.1:$port/"
[ ! -e "$work/dst/third" ] || fail "a stranger delivered a file"
