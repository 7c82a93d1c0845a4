# Hosts with real ssh servers, each in a network of its own. Sourced after lib.sh.

. "$(dirname "${BASH_SOURCE[0]}")/../loopback/ssh_lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/namespaces.sh"

leave() {
    local status=$?
    leave_namespaces
    (exit "$status") || cleanup
    cleanup
}
trap leave EXIT

# host NAME: a host with a network of its own.
host() {
    hold "$1"
    inside "${!1}" ip link set lo up
}
# serve_ssh NS: an ssh server on port 22 of the namespace.
serve_ssh() {
    local log=$work/sshd-${!1}.log
    server_settings >"$ssh_dir/sshd_config"
    nsenter -t "${!1}" -n "$sshd" -D -e -f "$ssh_dir/sshd_config" 2>"$log" &
    receivers+=("$!")
    until_true 20 listens "$!" "$log"
}
listens() {
    kill -0 "$1" 2>/dev/null || skip "the ssh server does not start: $(tail -n 1 "$2")"
    grep -q 'Server listening on 0.0.0.0 port 22' "$2"
}
