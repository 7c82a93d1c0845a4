# ssh's address leads to the far end, and UDP to that address to another host: a balancer, a jump host. The far end
# names its own addresses, and these are tried too.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/ssh_lib.sh"
command -v ip >/dev/null || skip "there is no 'ip' (Debian: iproute2)"
command -v nsenter >/dev/null || skip "there is no nsenter (Debian: util-linux)"
if [ -z "${in_own_network:-}" ]; then
    unshare -n true 2>/dev/null || skip "no network namespace may be made here"
    trap - EXIT
    rm -rf "$work"
    in_own_network=1 exec unshare -n bash -c 'ip link set lo up && exec bash "$0" "$@"' "$0" "$@"
fi
start_sshd
mkdir "$work/src" "$work/home"
head -c 3000000 /dev/urandom >"$work/src/data"

# The far program has another network, as behind a balancer.
unshare -n sleep 600 &
far=$!
receivers+=("$far")
has_left() { [ "$(readlink "/proc/$far/ns/net")" != "$(readlink /proc/self/ns/net)" ]; }
until_true 20 has_left
ip link add near0 type veth peer name far0 netns "$far" 2>/dev/null || skip "no interface can be made in a namespace here"
ip address add 10.9.0.1/24 dev near0
ip link set near0 up
ns() { nsenter --net="/proc/$far/ns/net" "$@"; }
ns ip link set lo up
ns ip address add 10.9.0.2/24 dev far0
# Virtual bridges have the same address on many hosts.
ip address add 172.17.0.1/16 dev lo
ns ip address add 172.17.0.1/16 dev lo
ns ip link set far0 up
for tool in recv send; do
    far_program "$tool" "cd '$work/home'" "export SSH_CONNECTION='192.0.2.9 1 192.0.2.77 22'" \
        "exec nsenter --net=/proc/$far/ns/net '$bin/udtx-$tool' \"\$@\""
done

expect 0 "$send" -v "${ssh[@]}" --remote-bin "$work/recv" "$work/src/data" far:
cmp "$work/src/data" "$work/home/data" || fail "what was sent differs"
said "connected to 10\.9\.0\.2:"
# In order: ssh's address first.
[ "$(grep -nE 'connecting to (127\.0\.0\.1|10\.9\.0\.2):' "$work/last.err" | head -n 1 | grep -c '127\.0\.0\.1')" -eq 1 ] ||
    fail "ssh's address is not the first"
never_said "connecting to 172\.17\.0\.1:"
expect 0 "$recv" "${ssh[@]}" --remote-bin "$work/send" far:data "$work/back"
cmp "$work/src/data" "$work/back" || fail "what was fetched differs"

# If none answers, the data goes over ssh. Without that, the report is about ssh's address.
ip link set near0 down
expect 0 "$send" "${ssh[@]}" --remote-bin "$work/recv" "$work/src/data" far:over-ssh
cmp "$work/src/data" "$work/home/over-ssh" || fail "what was sent over ssh differs"
said "over ssh"
expect 42 "$send" --transport udp "${ssh[@]}" --remote-bin "$work/recv" --timeout 20 "$work/src/data" far:other
said "UDP from here to far is blocked: ssh gets there, and nothing came back from 127\.0\.0\.1:[0-9]+/udp"
