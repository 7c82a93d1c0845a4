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
said "udtx-recv on far is version 0.0.1, this is .*: install the same version on both"
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
