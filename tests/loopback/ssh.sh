# udtx-send to [user@]host:path: ssh starts the receiver, for one transfer.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/ssh_lib.sh"
start_sshd
home=$work/far-home
mkdir -p "$home" "$work/src/sub" "$work/out"
far_program recv "cd '$home' && export HOME='$home' && exec '$recv' \"\$@\""
to=("${ssh[@]}" --remote-bin "$work/recv")

head -c 300000 /dev/urandom >"$work/src/one file"
head -c 3000000 /dev/urandom >"$work/src/sub/it's \"two\""
echo small >"$work/file"

# --- destinations as with scp
expect 0 "$send" "${to[@]}" "$work/file" far:
cmp "$work/file" "$home/file" || fail "the home directory takes what comes"
expect 0 "$send" "${to[@]}" "$work/file" "far:renamed"
cmp "$work/file" "$home/renamed" || fail "a name that does not exist is the new one"
expect 0 "$send" "${to[@]}" "$work/file" 'far:~/tilde'
cmp "$work/file" "$home/tilde" || fail "the home directory by its sign"
expect 0 "$send" "${to[@]}" "$work/file" "far:new dir/deep/"
cmp "$work/file" "$home/new dir/deep/file" || fail "a directory is made"
for dest in new/deeper/ contents-to-be; do
    expect 0 "$send" "${to[@]}" -n "$work/src/" "far:$dest"
    grep -q '^<f+++++++++ one file$' "$work/last.out" || fail "-n does not say what would come to $dest"
done
expect 0 "$send" "${to[@]}" -n "$work/file" "far:new/deeper/"
grep -q '^<f+++++++++ file$' "$work/last.out" || fail "-n does not say that a file would come"
[ ! -e "$home/new" ] && [ ! -e "$home/contents-to-be" ] || fail "-n made a directory"
expect 0 "$send" "${to[@]}" "$work/src" "far:$work/out"
diff -r "$work/src" "$work/out/src" || fail "an existing directory takes a tree"
expect 0 "$send" "${to[@]}" "$work/src" "far:$work/out/it's a \"tree\" \$HOME"
diff -r "$work/src" "$work/out/it's a \"tree\" \$HOME" || fail "a tree gets a new name"
expect 0 "$send" "${to[@]}" "$work/src/" far:contents
diff -r "$work/src" "$home/contents" || fail "the contents of a directory"
expect 0 "$send" "${to[@]}" "$work/file" "$work/src/one file" far:
cmp "$work/src/one file" "$home/one file" || fail "several sources"
echo newer >"$work/file"
expect 0 "$send" "${to[@]}" "$work/file" "far:renamed"
cmp "$work/file" "$home/renamed" || fail "an existing file is replaced"
head -c 100000 "$work/src/one file" | expect 0 "$send" "${to[@]}" - far:piped
head -c 100000 "$work/src/one file" | cmp - "$home/piped" || fail "standard input"
expect 0 "$send" "${to[@]}" -p -i "$work/ssh/user" -O 30000-39999 -4 "$work/file" "$(id -un)@far:flags"
cmp "$work/file" "$home/flags" || fail "flags"
[ -z "$(find "$home" "$work/out" -name '*.journal' -o -name '*.part')" ] || fail "something was left behind"

# --- an error of the far end arrives as one line, with its code
last_line() { [ "$(wc -l <"$work/last.err")" -eq 1 ] || fail "not one line: $(cat "$work/last.err")"; }
expect 11 "$send" "${to[@]}" "$work/file" far:no/such/name
said "^udtx-send: far: no/such: No such file or directory$"
last_line
expect 11 "$send" "${to[@]}" "$work/file" "$work/src" far:nowhere
said "far: nowhere: no such directory; end it with '/'"
expect 11 "$send" "${to[@]}" "$work/src" far:renamed
said "far: renamed: Not a directory"
if [ "$(id -u)" -ne 0 ]; then
    mkdir -m 555 "$home/closed"
    expect 11 "$send" "${to[@]}" "$work/file" far:closed/
    said "far: closed/: Permission denied"
    last_line
fi
expect 12 "$send" "${ssh[@]}" --remote-bin "$work/none/udtx-recv" "$work/file" far:
said "none/udtx-recv: not found on far; install it or name it with --remote-bin"
last_line
far_program old "echo 'udtx-bootstrap 1 0.0.1 1'"
expect 12 "$send" "${ssh[@]}" --remote-bin "$work/old" "$work/file" far:
said "udtx-recv on far is udtx 0.0.1, and this is udtx .*: update the older one"
last_line
expect 12 "$send" "${ssh[@]}" --remote-bin false "$work/file" far:
said "false --bootstrap' on far ended with code 1"
expect 10 "$send" "${ssh[@]}" -P 1 "$work/file" far:
said "^ssh: connect to host 127.0.0.1 port 1: "
said "ssh could not connect to far; try: ssh -F .* -p 1 far$"
ssh-keygen -q -t ed25519 -N '' -f "$work/stranger"
sed /IdentityFile/d "$ssh_config" >"$work/strange_config"
expect 40 "$send" --ssh "ssh -F '$work/strange_config' -i '$work/stranger'" "$work/file" far:
said "Permission denied"
said "ssh was refused by far"
expect 10 "$send" --ssh "$work/none/ssh" "$work/file" far:
said "cannot start '.*none/ssh'"

# Output of a login script does no harm.
far_program noisy "echo 'Welcome to far'; echo more >&2" "exec '$work/recv' \"\$@\""
expect 0 "$send" "${ssh[@]}" --remote-bin "$work/noisy" "$work/file" far:noisy
cmp "$work/file" "$home/noisy" || fail "noise"

# Endless output ends the run.
far_program endless "exec yes 'Welcome to far'"
expect 12 "$send" "${ssh[@]}" --remote-bin "$work/endless" "$work/file" far:
said "udtx-recv on far sends too much over ssh"

# --- wrong use
wrong() { expect 1 "$send" "${@:2}"; said "$1"; last_line; }
wrong "^udtx-send: -O/--udp-port: " -O 0 "$work/file" far:
wrong "--ssh-port: 'x'" -P x "$work/file" far:
wrong "for \[user@\]HOST:PATH" -P 22 "$work/file" udtx://127.0.0.1/
wrong "^udtx-send: --psk-file is for udtx://.*gets its own key" --psk-file "$work/none" "$work/file" far:
wrong "^udtx-send: --pin is for udtx://.*gets its own key" --pin "$work/none" "$work/file" far:
wrong "needs a name.* far:NAME" - far:
wrong "needs a name.* far:d/NAME" - far:d/
wrong "needs a name.* far:d/../NAME" - far:d/..
wrong "needs a name.* far:~/NAME" - 'far:~'
wrong "does not accept this host" "$work/file" -- "-oProxyCommand=true:x"

# --- a key in a settings file is for servers, and does not disturb a run over ssh
echo "psk-file $work/none" >"$work/settings"
expect 0 "$send" "${to[@]}" --config "$work/settings" "$work/file" far:keyed
cmp "$work/file" "$home/keyed" || fail "with a key in the settings"
UDTX_IDENTITY=$work/none expect 0 "$send" "${to[@]}" "$work/src/one file" far:keyed
cmp "$work/src/one file" "$home/keyed" || fail "with a key in the environment"

# --- where the program is: in PATH, in ~/.local/bin, in /usr/local/bin, or where --remote-bin says. This ssh runs its
# command here, with another home directory and a short PATH, in a shell of the user's choice.
bare=$work/bare-home
mkdir -p "$bare/.local/bin" "$bare/tools"
# near_ssh SHELL: sets $near
near_ssh() {
    printf '#!/bin/bash\ncd "%s" && exec env -i HOME="%s" PATH=/usr/bin:/bin %s -c "${@: -1}"\n' "$bare" "$bare" "$1" >"$work/near"
    chmod +x "$work/near"
    near=(--ssh "$work/near")
}
near_ssh sh
if [ ! -e /usr/local/bin/udtx-recv ] && [ ! -e /usr/bin/udtx-recv ]; then
    expect 12 "$send" "${near[@]}" "$work/file" 127.0.0.1:
    said "^udtx-send: udtx-recv: not found on 127.0.0.1, neither in PATH nor in ~/.local/bin or /usr/local/bin; install it"
    last_line
fi
ln -s "$send" "$recv" "$bare/.local/bin/"
ln -s "$send" "$bare/tools/udtx-send"
ln -s "$recv" "$bare/tools/udtx-recv"
for shell in sh bash zsh fish tcsh dash; do
    command -v "$shell" >/dev/null || continue
    near_ssh "$shell"
    rm -f "$bare/file"
    expect 0 "$send" "${near[@]}" -O 20000-39999 "$work/file" 127.0.0.1:
    cmp "$work/file" "$bare/file" || fail "$shell does not find ~/.local/bin"
done
near_ssh sh
# One value serves pushes and pulls.
for bin in tools tools/ "~/tools" "$bare/tools" "$bare/tools/udtx" "$bare/tools/udtx-recv" "$bare/tools/udtx-send" \
    "env $bare/tools/udtx-send"; do
    rm -f "$bare/file" "$work/fetched"
    expect 0 "$send" "${near[@]}" --remote-bin "$bin" "$work/file" 127.0.0.1:
    expect 0 "$recv" "${near[@]}" --remote-bin "$bin" 127.0.0.1:file "$work/fetched"
    cmp "$work/file" "$work/fetched" || fail "--remote-bin $bin"
done
printf '#!/bin/sh\nexec "%s" "$@"\n' "$send" >"$work/sends"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$recv" >"$work/receives"
chmod +x "$work/sends" "$work/receives"
expect 12 "$send" "${near[@]}" --remote-bin "$work/sends" "$work/file" 127.0.0.1:
said "127.0.0.1: udtx-send answered, but a push needs udtx-recv: correct --remote-bin"
expect 12 "$recv" "${near[@]}" --remote-bin "$work/receives" 127.0.0.1:file "$work/fetched"
said "127.0.0.1: udtx-recv answered, but a fetch needs udtx-send: correct --remote-bin"

# --- a port that needs root names the cause
if [ "$(id -u)" -ne 0 ] && [ "$(cat /proc/sys/net/ipv4/ip_unprivileged_port_start)" -gt 22 ]; then
    expect 10 "$send" "${near[@]}" -O 22 "$work/file" 127.0.0.1:
    said "ports below 1024 need root; choose another one"
fi
