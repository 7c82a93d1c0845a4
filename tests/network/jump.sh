# A host behind a jump host, and a host of which only port 22 can be reached: the data goes over the connection of ssh.
# When the firewall opens in the middle of a transfer, the rest goes over UDP. The ssh servers are real.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/ssh_hosts.sh"
command -v nft >/dev/null || skip "needs nft"

# only_ssh NS: nothing passes but connections to port 22.
only_ssh() {
    inside "$1" nft -f - <<'EOF'
table inet wall {
    chain in { type filter hook input priority 0; policy drop; ct state established accept; tcp dport 22 accept; }
    chain out { type filter hook output priority 0; policy drop; ct state established accept; }
}
EOF
}

for ns in client jump inner walled opening; do
    host $ns
    inside "${!ns}" sysctl -qw net.ipv4.ip_forward=0
done
cable "$client" 10.1.0.1/24 "$jump" 10.1.0.2/24
cable "$jump" 10.2.0.1/24 "$inner" 10.2.0.2/24
cable "$client" 10.3.0.1/24 "$walled" 10.3.0.2/24
cable "$client" 10.4.0.1/24 "$opening" 10.4.0.2/24
only_ssh "$walled" 2>"$work/nft.err" || skip "no packet filter here: $(head -n 1 "$work/nft.err")"
only_ssh "$opening"
ssh_keys
for ns in jump inner walled opening; do serve_ssh $ns; done
{
    printf 'Host jump\n    HostName 10.1.0.2\n'
    printf 'Host inner\n    HostName 10.2.0.2\n    ProxyJump jump\n'
    printf 'Host walled\n    HostName 10.3.0.2\n'
    printf 'Host opening\n    HostName 10.4.0.2\n'
    client_settings
    echo "    User $(id -un)"
} >"$ssh_dir/config"
login() { inside "$client" timeout 120 ssh -F "$ssh_dir/config" "$1" true 2>"$work/login.err"; }
login jump || skip "this user cannot log in by ssh: $(tail -n 1 "$work/login.err")"
! inside "$client" timeout 1 bash -c 'exec 3<>/dev/tcp/10.2.0.2/22' 2>/dev/null || fail "the inner host is reached without the jump host"

head -c 20000000 /dev/urandom >"$work/data"
head -c 90000000 /dev/urandom >"$work/more"
mkdir "$work"/{pushed,pulled,walled,opened}

# begin NAME TOOL PROGRAM ARGS...: starts a transfer from the client's network, with PROGRAM at the far end.
declare -A running
begin() {
    nsenter -t "$client" -n "$2" --timeout 60 --ssh "ssh -F '$ssh_dir/config'" --remote-bin "$3" "${@:4}" >"$work/$1.out" 2>"$work/$1.err" &
    running[$1]=$!
    receivers+=("$!")
}
# ends NAME WAY FILE COPY: the transfer ends whole, and its summary names the way.
ends() {
    wait_for 0 "${running[$1]}"
    cmp "$3" "$4" || fail "$1: the copy differs"
    grep -q "^udtx-.*: 1 file, .*, over $2\$" "$work/$1.err" || fail "$1: the summary does not say 'over $2'"
}

begin opened "$send" "$recv" --rate 150M "$work/more" "opening:$work/opened/"
begin pushed "$send" "$recv" "$work/data" "inner:$work/pushed/"
begin pulled "$recv" "$send" "inner:$work/data" "$work/pulled/"
begin walled "$send" "$recv" "$work/data" "walled:$work/walled/"
some() { [ -n "$(find "$work/opened" -name '*.part' -size +10000k)" ]; }
until_true 60 some
inside "$opening" nft flush ruleset
for name in pushed pulled walled; do ends $name ssh "$work/data" "$work/$name/data"; done
ends opened "UDP and ssh" "$work/more" "$work/opened/more"
grep -q "through another host: a direct route to its UDP port" "$work/pushed.err" || fail "the advice is not that for a jump host"
grep -q "let UDP port .* of walled (-O names it) through the firewalls" "$work/walled.err" || fail "the advice does not name the firewall"
