# Network namespaces of a test, and links between them. Sourced after lib.sh; skips where none may be made.

unshare -n true 2>/dev/null || skip "no network of its own may be made here"
command -v nsenter >/dev/null || skip "needs nsenter"

# hold NAME: makes a network namespace, which a process of its own holds.
held=()
hold() {
    local _
    unshare -n sleep 300 &
    eval "$1=$!"
    held+=("$!")
    disown
    for _ in $(seq 500); do
        [ "$(readlink "/proc/$!/ns/net")" = "$(readlink /proc/self/ns/net)" ] || return 0
        sleep 0.01
    done
    fail "no namespace $1"
}
inside() { nsenter -t "$1" -n "${@:2}"; }
# cable NS1 ADDRESS1 NS2 ADDRESS2: a link between two namespaces.
cables=0
cable() {
    cables=$((cables + 1))
    ip link add "x$cables" netns "$1" type veth peer name "y$cables" netns "$3"
    inside "$1" ip addr add "$2" dev "x$cables"
    inside "$3" ip addr add "$4" dev "y$cables"
    inside "$1" ip link set "x$cables" up
    inside "$3" ip link set "y$cables" up
}
# leave_namespaces: ends all processes in them, also those that lost their parent, and those that the test noted in
# $held. cleanup() waits for those in $receivers.
leave_namespaces() {
    local at ns here spaces=" "
    here=$(readlink /proc/self/ns/net)
    for at in "${held[@]}"; do
        ns=$(readlink "/proc/$at/ns/net") || continue
        [ "$ns" = "$here" ] || spaces+="$ns "
    done
    for at in /proc/[0-9]*; do
        ns=$(readlink "$at/ns/net" 2>/dev/null) || continue
        [[ $spaces != *" $ns "* || " ${receivers[*]} " == *" ${at#/proc/} "* ]] || kill -9 "${at#/proc/}" 2>/dev/null || true
    done
    kill -9 "${held[@]}" 2>/dev/null || true
}
