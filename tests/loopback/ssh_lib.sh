# A real ssh server on loopback, with its own keys and configuration. Sourced after lib.sh.

sshd=$(PATH=$PATH:/usr/sbin:/sbin command -v sshd) || skip "there is no ssh server (Debian: openssh-server)"
command -v ssh >/dev/null && command -v ssh-keygen >/dev/null || skip "there is no ssh client (Debian: openssh-client)"

# ssh_keys: makes keys of a host and of a user in $ssh_dir.
ssh_keys() {
    ssh_dir=$work/ssh
    mkdir -p "$ssh_dir"
    chmod 700 "$ssh_dir"
    ssh-keygen -q -t ed25519 -N '' -f "$ssh_dir/host"
    ssh-keygen -q -t ed25519 -N '' -f "$ssh_dir/user"
    # As root, sshd requires this directory.
    [ "$(id -u)" -ne 0 ] || [ -d /run/sshd ] || mkdir -m 755 /run/sshd 2>/dev/null || [ -d /run/sshd ] || skip "/run/sshd cannot be made"
}
# server_settings and client_settings: what every server and every client is told.
server_settings() {
    cat <<EOF
HostKey $ssh_dir/host
AuthorizedKeysFile $ssh_dir/user.pub
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
PidFile none
MaxStartups 100
EOF
}
client_settings() {
    cat <<EOF
Host *
    IdentityFile $ssh_dir/user
    IdentitiesOnly yes
    BatchMode yes
    UserKnownHostsFile $ssh_dir/known
    StrictHostKeyChecking accept-new
    ConnectTimeout 60
EOF
}

# start_sshd: sets $sshd_pid, $ssh_port and $ssh_config. In that configuration the host is called "far", and "beyond" is
# reached through "far". If IPv6 exists, the server also listens on [::1].
start_sshd() {
    local me six= _
    me=$(id -un)
    ssh_keys
    [ ! -e /proc/net/if_inet6 ] || ! grep -q '^0*1 ' /proc/net/if_inet6 || six=yes
    for _ in $(seq 20); do
        ssh_port=$((20000 + RANDOM % 12000))
        cat >"$ssh_dir/sshd_config" <<EOF
ListenAddress 127.0.0.1:$ssh_port
${six:+ListenAddress [::1]:$ssh_port}
$(server_settings)
EOF
        "$sshd" -D -e -f "$ssh_dir/sshd_config" 2>"$work/sshd.log" &
        sshd_pid=$!
        for _ in $(seq 200); do
            ! grep -q 'Server listening' "$work/sshd.log" || break 2
            kill -0 "$sshd_pid" 2>/dev/null || break
            sleep 0.05
        done
        sshd_pid=
    done
    [ -n "$sshd_pid" ] || skip "the ssh server does not start: $(tail -n 1 "$work/sshd.log")"
    receivers+=("$sshd_pid")
    cat >"$ssh_dir/config" <<EOF
Host far
    HostName 127.0.0.1
    Port $ssh_port
    User $me
Host beyond
    HostName 127.0.0.1
    Port $ssh_port
    User $me
    ProxyJump far
$(client_settings)
EOF
    ssh_config=$ssh_dir/config
    ssh=(--ssh "ssh -F '$ssh_config'")
    timeout 120 ssh -F "$ssh_config" far true 2>"$work/ssh-login.err" ||
        skip "this user cannot log in by ssh: $(tail -n 1 "$work/ssh-login.err")"
}

# far_program NAME LINE...: makes a script that ssh starts at the far end; its last line starts the tool, with "$@".
far_program() {
    local name=$1
    shift
    { echo '#!/bin/bash'; printf '%s\n' "$@"; } >"$work/$name"
    chmod +x "$work/$name"
}
