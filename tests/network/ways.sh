# UDP is dropped from the start, later, in one direction, or slowed to nothing: the transfer goes over TCP or over the
# connection of ssh, it ends whole, and the summary names the way.
. "$(dirname "$0")/lib.sh"
command -v nft >/dev/null || skip "needs nft"
if [ -z "${in_own_network:-}" ]; then
    unshare -n true 2>/dev/null || skip "no network of its own may be made here"
    in_own_network=1 unshare -n bash -c 'ip link set lo up && exec "$0" "$@"' bash "$0" "$bin" "$relay_program"
    exit
fi

# filter RULE...: what the packet filter drops from now on. "to" and "from" are the server's UDP.
filter() {
    nft flush ruleset
    nft add table ip line
    nft add chain ip line in '{ type filter hook input priority 0; }'
    local rule
    for rule in "$@"; do
        # shellcheck disable=SC2086  # a rule is several words
        nft add rule ip line in $rule
    done
}
open_line() { nft flush ruleset; }
make_key
open_line 2>"$work/nft.err" || skip "no packet filter here: $(head -n 1 "$work/nft.err")"
head -c 30000000 /dev/urandom >"$work/data"
local_ssh=$(realpath "$(dirname "$0")/../support/local_ssh")

to() { echo "udp dport $port"; }
from() { echo "udp sport $port"; }
serve() {  # FLAGS...: a server of one transfer
    rm -rf "$work/dst"
    mkdir "$work/dst"
    start_recv "r$RANDOM" --one-off --timeout 60 --dir "$work/dst" --psk-file "$work/psk" "$@"
}
# arrived WAY: the transfer $sender went over WAY and is whole.
arrived() {
    wait_for 0 "$sender"
    cmp "$work/data" "$work/dst/data" || fail "the file differs"
    grep -q "over $1\$" "$work/last.err" || fail "the summary does not say 'over $1': $(cat "$work/last.err")"
}
push() {  # FLAGS...
    "$send" --timeout 60 --psk-file "$work/psk" "$@" "$work/data" "udtx://127.0.0.1:$port/" >"$work/last.out" 2>"$work/last.err" &
    sender=$!
    receivers+=("$sender")
}
over_ssh() {  # FLAGS...
    "$send" --timeout 60 --ssh "$local_ssh" --remote-bin "$bin" -O 7700 "$@" "$work/data" "host:$work/dst/" >"$work/last.out" 2>"$work/last.err" &
    sender=$!
    receivers+=("$sender")
}
written() { find "$work/dst" -type f \( -name '*.part' -o -name data \) -printf '%s\n' | awk '{ n += $1 } END { print n + 0 }'; }
has() { [ "$(written)" -ge "$1" ]; }

# --- from the start
for dropped in both to from; do
    serve
    case $dropped in both) filter "$(to) drop" "$(from) drop" ;; *) filter "$($dropped) drop" ;; esac
    push
    arrived TCP
done
serve
filter "$(to) limit rate over 1/second drop" "$(from) limit rate over 1/second drop"
push
arrived TCP
fault_case F92 "UDP dropped from the start, in one direction, or slowed to nothing: TCP, code 0" "$(grep over "$work/last.err" | head -n 1)"

# --- a firewall refuses UDP with an answer: that of the server, a router, or this host
for answer in admin-prohibited port-unreachable; do
    serve
    filter "$(to) reject with icmp type $answer"
    push
    arrived TCP
    rm -rf "$work/dst"
    mkdir "$work/dst"
    port=7700
    filter "$(to) reject with icmp type $answer"
    over_ssh
    arrived ssh
done
serve
filter
nft add chain ip line out '{ type filter hook output priority 0; }'
nft add rule ip line out udp dport "$port" drop
push
arrived TCP
# TCP does not pass either: the cause is named.
nft add rule ip line out tcp dport "{ 443, $port }" reject with tcp reset
expect 10 "$send" --timeout 20 --psk-file "$work/psk" "$work/data" "udtx://127.0.0.1:$port/"
said "no route to 127.0.0.1:$port/udp: Operation not permitted"
fault_case F92 "UDP refused by a firewall, with an answer or by this host: TCP or ssh, code 0" "code 0"

# --- only UDP is allowed, and does not pass
serve
filter "$(to) drop" "$(from) drop"
expect 42 "$send" --transport udp --timeout 20 --psk-file "$work/psk" "$work/data" "udtx://127.0.0.1:$port/"
kill "$receiver"

# --- only port 443 passes
serve --tcp-listen 127.0.0.1:443
filter "$(to) drop" "tcp dport 443 accept" "tcp dport $port drop"
push
arrived TCP

# --- over ssh
rm -rf "$work/dst"
mkdir "$work/dst"
port=7700
filter "$(to) drop" "$(from) drop"
over_ssh
arrived ssh
open_line

# --- UDP stops in the middle, and comes back. Nothing rests for more than 1 s.
head -c 150000000 /dev/urandom >"$work/data"
# The longest time in milliseconds in which the receiver wrote nothing, over SECONDS.
longest_rest() {
    local end=$(($(date +%s%3N) + $1 * 1000)) last=0 size now rest longest=0 since
    since=$(date +%s%3N)
    while now=$(date +%s%3N) && [ "$now" -lt "$end" ] && kill -0 "$sender" 2>/dev/null; do
        size=$(written)
        if [ "$size" != "$last" ]; then
            last=$size
            since=$now
        fi
        rest=$((now - since))
        longest=$((rest > longest ? rest : longest))
        sleep 0.02
    done
    echo "$longest"
}
for kind in TCP ssh; do
    rm -rf "$work/dst"
    mkdir "$work/dst"
    if [ $kind = TCP ]; then
        serve
        push --rate 200M
    else
        port=7700
        over_ssh --rate 200M
    fi
    until_true 20 has 70000000  # a byte stream stands by after 2 s
    filter "$(to) drop" "$(from) drop"
    rested=$(longest_rest 2)
    open_line
    arrived "UDP and $kind"
    [ "$rested" -le 1000 ] || fail "nothing was written for $rested ms when UDP stopped ($kind)"
    fault_case F93 "UDP stops in the middle, $kind takes over: at most 1 s without data" "$rested ms"
done

# --- UDP passes again: the transfer moves there.
for kind in TCP ssh; do
    rm -rf "$work/dst"
    mkdir "$work/dst"
    if [ $kind = TCP ]; then
        serve
        filter "$(to) drop" "$(from) drop"
        push --rate 200M
    else
        port=7700
        filter "$(to) drop" "$(from) drop"
        over_ssh --rate 200M
    fi
    until_true 20 has 20000000
    open_line
    rested=$(longest_rest 6)
    arrived "UDP and $kind"
    [ "$rested" -le 1000 ] || fail "nothing was written for $rested ms when UDP passed again ($kind)"
    fault_case F93 "UDP passes again: $kind hands over, at most 1 s without data" "$rested ms"
done
