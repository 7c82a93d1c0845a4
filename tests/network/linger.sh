# ssh and the connection are lost together. The far end waits with its port and key, and when the line is back the
# transfer goes on without another login. Without --linger, and if the far end is killed, there is another login.
. "$(dirname "$0")/lib.sh"
command -v nft >/dev/null || skip "needs nft"
if [ -z "${in_own_network:-}" ]; then
    unshare -n true 2>/dev/null || skip "no network of its own may be made here"
    in_own_network=1 unshare -n bash -c 'ip link set lo up && exec "$0" "$@"' bash "$0" "$bin" "$relay_program"
    exit
fi
nft add table ip line 2>"$work/nft.err" || skip "no packet filter here: $(head -n 1 "$work/nft.err")"
nft add chain ip line in '{ type filter hook input priority 0; }'
head -c 30000000 /dev/urandom >"$work/data"

# ssh, whose logins are counted: its program goes on when it is killed, as behind a line that is cut.
cat >"$work/ssh" <<'SSH'
#!/bin/bash
for word in "$@"; do [ "$word" != -G ] || exit 1; done
echo "$$ $*" >>"$LOGINS"
[[ " $* " != *" -oBatchMode=yes "* ]] || [ ! -e "$LOGINS.asks" ] || { echo "Permission denied (keyboard-interactive)." >&2; exit 255; }
mkfifo "$LOGINS.$$.in" "$LOGINS.$$.out"
SSH_CONNECTION="127.0.0.1 5555 127.0.0.1 22" setsid sh -c "${*: -1}" <"$LOGINS.$$.in" >"$LOGINS.$$.out" 2>/dev/null &
echo "$!" >"$LOGINS.far"
cat <"$LOGINS.$$.out" &
out=$!
trap 'kill $out $in; echo "client_loop: send disconnect: Broken pipe" >&2; exit 255' TERM
cat >"$LOGINS.$$.in" <&0 &
in=$!
wait $out 2>/dev/null
kill $in 2>/dev/null
SSH
chmod +x "$work/ssh"
export LOGINS=$work/logins

far_ends() { ! kill -0 "$far" 2>/dev/null; }
logins() { grep -c . "$LOGINS" || true; }
# begin DEST FLAGS...: a push that has delivered some.
begin() {
    rm -rf "$LOGINS"* "$work/dst"
    mkdir "$work/dst"
    [ -z "${asks:-}" ] || touch "$LOGINS.asks"
    "$send" --ssh "$work/ssh" --remote-bin "$bin" --rate 40M --timeout 60 "$@" "$work/data" "host:$work/dst/" >"$work/last.out" 2>"$work/last.err" &
    sender=$!
    receivers+=("$sender")
    for _ in $(seq 500); do [ -z "$(find "$work/dst" -name '*.part' -size +2000k)" ] || break; sleep 0.02; done
    sleep 1
    far=$(cat "$LOGINS.far")
}
cut_line() {
    nft add rule ip line in meta l4proto udp drop
    kill -TERM "$(awk 'END { print $1 }' "$LOGINS")"
}
ends_whole() {
    wait_for 0 "$sender"
    cmp -s "$work/data" "$work/dst/data" || fail "$1: the file is not whole"
    said "reconnected [0-9]+ time"
}

asks=yes
begin --transport udp
cut_line
for _ in $(seq 1500); do ! grep -q "the connection is lost" "$work/last.err" || break; sleep 0.02; done
sleep 1
far_ends && fail "the far end did not wait"
nft flush chain ip line in
ends_whole "--linger"
grep -v -- -oBatchMode=yes "$LOGINS" >"$work/asking"
[ "$(grep -c . "$work/asking")" -eq 1 ] || fail "--linger: another login that asks: $(cat "$LOGINS")"
for _ in $(seq 250); do ! far_ends || break; sleep 0.02; done
far_ends || fail "the far end is still there after the end"
echo "lingers: 1 login that asks of $(logins)"
asks=

# Without it the far end goes, and there is a second login.
begin --transport udp --linger 0
cut_line
for _ in $(seq 1500); do ! far_ends || break; sleep 0.02; done
far_ends || fail "--linger 0: the far end waits"
nft flush chain ip line in
ends_whole "--linger 0"
[ "$(logins)" -ge 2 ] || fail "--linger 0: no second login"

# A far end that is killed does not answer, and a login replaces it.
begin --transport udp
kill -9 -- "-$far"
ends_whole "killed"
[ "$(logins)" -ge 2 ] || fail "killed: no second login"

# It waits no longer than it was told.
begin --transport udp --linger 3
cut_line
kill -9 "$sender"
sleep 1.5
far_ends && fail "--linger 3: the far end did not wait"
for _ in $(seq 3000); do ! far_ends || break; sleep 0.02; done
far_ends || fail "--linger 3: the far end still waits"
echo "ok"
