# A transfer over a slow link moves from UDP to TCP or ssh, or from there to UDP. Data arrives again within 1 s, and no
# more is sent again than was in flight.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/ssh_hosts.sh"
command -v nft >/dev/null && command -v tc >/dev/null || skip "needs nft and tc"
size=40000000
head -c $size /dev/urandom >"$work/data"
make_key
ssh_keys

# Each move has its own two hosts. to_X begins over UDP, from_X over X.
moves=(to_tcp to_ssh from_tcp from_ssh)
block() { inside "$1" nft 'add table inet wall; add chain inet wall in { type filter hook input priority 0; };
    add chain inet wall out { type filter hook output priority 0; };
    add rule inet wall in meta l4proto udp drop; add rule inet wall out meta l4proto udp drop'; }
pass() { inside "$1" nft flush ruleset; }
# figures NS: the metrics of the sender.
figures() { inside "$1" bash -c 'exec 3<>/dev/tcp/127.0.0.1/9100 && printf "GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n" >&3 && cat <&3'; }
declare -A near far running
begin() {
    local name=$1 to
    mkdir "$work/$name"
    if [[ $name == *_tcp ]]; then
        : >"$work/$name.far"
        nsenter -t "${far[$name]}" -n "$recv" --listen 10.1.0.2:7011 --dir "$work/$name" --psk-file "$work/psk" 2>"$work/$name.far" &
        receivers+=("$!")
        until_true 20 grep -q "listening on" "$work/$name.far"
        to=(--psk-file "$work/psk" "$work/data" udtx://10.1.0.2:7011/)
    else
        far_host=${far[$name]}
        serve_ssh far_host
        to=(--ssh "ssh -F '$ssh_dir/config'" --remote-bin "$recv" "$work/data" "host:$work/$name/")
    fi
    nsenter -t "${near[$name]}" -n "$send" --json --metrics :9100 --rate 64M --timeout 60 "${to[@]}" >"$work/$name.json" 2>"$work/$name.err" &
    running[$name]=$!
    receivers+=("$!")
}
printf 'Host host\n    HostName 10.1.0.2\n    User %s\n%s\n' "$(id -un)" "$(client_settings)" >"$ssh_dir/config"
for name in "${moves[@]}"; do
    host near_host
    host far_host
    near[$name]=$near_host far[$name]=$far_host
    cable "$near_host" 10.1.0.1/24 "$far_host" 10.1.0.2/24
    inside "$near_host" tc qdisc add dev "x$cables" root tbf rate 80mbit burst 16k latency 30ms 2>"$work/tc.err" ||
        skip "no slow link can be made here: $(head -n 1 "$work/tc.err")"
    [[ $name != from_* ]] || block "$far_host" 2>"$work/nft.err" || skip "no packet filter here: $(head -n 1 "$work/nft.err")"
    begin "$name"
done

# What has arrived, as "MILLISECONDS MOVE BYTES", until all are whole. The filters change meanwhile.
declare -A moved
arrived() {
    find "${moves[@]/#/$work/}" -type f \( -name '*.part' -o -name data \) -printf '%P %h %s\n' | awk -v t="$1" '
        { sub(/.*\//, "", $2); if ($3 > most[$2]) most[$2] = $3 }
        END { for (name in most) print t, name, most[name] }'
}
: >"$work/arrivals"
until_ms=$(($(date +%s%3N) + 60000))
while :; do
    ms=$(date +%s%3N)
    [ "$ms" -lt "$until_ms" ] || fail "the transfers do not end: $(tail -n 4 "$work/arrivals")"
    arrived "$ms" >"$work/arrived"
    cat "$work/arrived" >>"$work/arrivals"
    whole=0
    while read -r _ name bytes; do
        # A byte stream stands by after 2 s: 16 MB.
        if [[ $name == to_* ]]; then least=24000000; else least=4000000; fi
        if [ -z "${moved[$name]:-}" ] && [ "$bytes" -ge $least ]; then
            moved[$name]=$ms
            figures "${near[$name]}" >"$work/$name.metrics"
            if [[ $name == to_* ]]; then block "${far[$name]}"; else pass "${far[$name]}"; fi
        fi
        [ "$bytes" -lt $size ] || whole=$((whole + 1))
    done <"$work/arrived"
    [ $whole -lt ${#moves[@]} ] || break
    sleep 0.02
done

# The longest time in milliseconds between two arrivals of a move.
longest_rest() {
    awk -v name="$1" '$2 == name && $3 > last { if (last && $1 - since > rest) rest = $1 - since; last = $3; since = $1 }
        END { print rest + 0 }' "$work/arrivals"
}
# first_path NAME METRIC: a figure of the first path just before the move. The transfer leaves this path.
first_path() { awk -v metric="^udtx_path_$2[{]" '$0 ~ metric && /path="0"/ { printf "%d", $NF }' "$work/$1.metrics"; }
# reported_of NAME KEY: the sum of a figure in the report of a move.
reported_of() { grep -oE "\"$2\": *[0-9]+" "$work/$1.json" | awk -F: '{ n += $2 } END { print n + 0 }'; }
for name in "${moves[@]}"; do
    wait_for 0 "${running[$name]}"
    cmp "$work/data" "$work/$name/data" || fail "$name: the file differs"
    way=${name#*_}
    grep -qE "over UDP and ${way/tcp/TCP}$" "$work/$name.err" || fail "$name: the summary names other ways"
    rest=$(longest_rest "$name")
    packets=$(reported_of "$name" retransmitted_packets)
    copies=$(reported_of "$name" reinjected_bytes)
    if [[ $name == to_* ]]; then
        # UDP had a window in flight when it stopped, which grew by less than a quarter after the last look at it. A packet
        # on the stream carries up to 16,000 bytes of that. Four packets: probes, and the last one, which is not full.
        window=$(first_path "$name" window_bytes)
        packets=$((packets - $(first_path "$name" lost_packets_total)))
        again=$((packets * 16000 + copies)) most=$((window + window / 4 + 4 * 16000))
        [ "$packets" -gt 0 ] || fail "$name: nothing was in flight"
    else
        # The stream's flight arrives after all, so that only bytes are sent again that UDP lost. Copies of late bytes: as
        # much as the queue of the link holds, 30 ms of 80 Mbit/s.
        grep -qE "\"carrier\":\"$way\",[^}]*\"loss\":0\.0+," "$work/$name.json" || fail "$name: the stream lost something"
        packets=$((packets - $(reported_of "$name" lost_packets)))
        again=$(((packets > 0 ? packets : 0) * 1472 + copies)) most=300000
    fi
    echo "$name: $rest ms without data, $again bytes sent again of at most $most"
    [ "$rest" -lt 1000 ] || fail "$name: nothing arrived for $rest ms"
    [ "$again" -le "$most" ] || fail "$name: $again bytes were sent again, and $most were in flight"
done
