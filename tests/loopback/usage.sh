# Wrong command lines end with code 1 and a line that names the error.
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/dst"
echo x >"$work/file"
url=udtx://127.0.0.1:9/
wrong_send() { expect 1 "$send" --psk-file "$work/psk" "${@:2}"; said "$1"; [ "$(wc -l <"$work/last.err")" -eq 1 ] || fail "more than one line: $*"; }
wrong_recv() { expect 1 "$recv" --psk-file "$work/psk" "${@:2}"; said "$1"; }

wrong_send "'--rat'.*--rate" --rat 5M "$work/file" $url
wrong_send "'--pskfile'.*--psk-file" --pskfile x "$work/file" $url
for flag in -z -avz -rzP --compress; do
    wrong_send "^udtx-send: unknown flag '(-z|--compress)'; udtx does not compress: leave it out$" "$flag" "$work/file" $url
done
wrong_send "^udtx-send: unknown flag '-Y'; see --help$" -Y "$work/file" $url
# Flags of rsync, scp and ascp: each message says what to write, and none suggests a deletion.
for flag in -u --update --ignore-existing --existing --max-delete=5 -R --relative -x --one-file-system -A --acls \
    --size-only --link-dest=x --copy-dest=x --compare-dest=x -b --backup --backup-dir=x --chmod=x --chown=x -D --devices \
    --numeric-ids --filter=x -f --include-from=x --max-size=1 --min-size=1 -I --ignore-times --inplace --append \
    --remove-source-files --force --delete-excluded --list-only --itemize-changes --log-file=x --port=1 \
    --password-file=x --fsync -W --whole-file --mkpath -s -J --partial-dir=x --compress-level=1 --rsync-path=x \
    --no-perms --no-owner --no-D --file-list=x --mode=send --user=x -Z --contimeout=1 -T --temp-dir=x --modify-window=1; do
    wrong_send "^udtx-send: unknown flag '${flag%%=*}'; (use |leave |give |write |run |udtx |names |--policy )" "$flag" "$work/file" $url
    never_said "; .*(--delete|did you mean)"
done
wrong_send "^udtx-send: unknown flag '--delete-after'; udtx has only --delete" --delete-after "$work/file" $url
for typo in --delte --deleet --allow-delet --max-deletes; do
    wrong_send "unknown flag '$typo'" $typo "$work/file" $url
    never_said "mean --(allow-)?delete"
done
wrong_send "-c compares contents" --checksum "$work/file" $url
# Destinations that are not quite one
wrong_send "'u@localhost' names no host: over ssh write u@localhost:, for a server udtx://HOST:PORT/" "$work/file" u@localhost
wrong_send "'photos' names no host: over ssh write HOST:photos, or photos: if it is the host" "$work/file" photos
for host in 127.0.0.1 localhost '[::1]'; do
    expect 1 "$send" "$work/file" "$host:7412"
    said "over ssh: for a server at this port write udtx://.*:7412/, for the file .*:\./7412"
done
expect 1 "$recv" 127.0.0.1:7412 "$work/dst"
said "write udtx://127.0.0.1:7412/"
expect 1 "$send" h:x h2:
said "between this machine and another one: run udtx-send where h:x is, or fetch it first"
expect 1 "$recv" h:x h2:
said "the destination h2: is on another host"
expect 11 "$send" --psk-file "$work/psk" -- -1 $url
said "cannot send -1: No such file"
for number in -1 -p22 -22; do
    wrong_send "unknown flag '-(1|2)'" $number "$work/file" $url
done
wrong_send "use --exclude-from FILE; udtx does not compress" -C "$work/file" $url
wrong_send "two hexadecimal digits must follow each %; write %25 for %" "$work/file" "${url}a%zz"
wrong_send "write %25" "$work/file" "${url}100%"
for time in 90 1h 2m 1.5min 2d 3s; do
    expect 0 "$send" --timeout $time --show-config "$work/file" $url
done
wrong_send "^udtx-send: unknown flag '--partial'; udtx always keeps" --partial "$work/file" $url
wrong_send "^udtx-send: -P/--ssh-port: '$work/file' is not a port.* -P of rsync leave it out\)$" -avP "$work/file" host:dst
wrong_send "unknown flag '--authorized-keys'; it is a flag of udtx-recv" --authorized-keys x "$work/file" $url
wrong_recv "unknown flag '--policy'; it is a flag of udtx-send" --policy low host:src "$work/dst"
for flag in exclude rate receipt log; do  # the word after it is not its value
    wrong_send "^udtx-send: --$flag: the value after '=' is missing$" --$flag= -n "$work/file" $url
done
for flag in rate bwlimit min-rate schedule timeout overwrite files-from exclude receipt mtu; do
    wrong_send "^udtx-send: --$flag: the value is empty$" --$flag "" "$work/file" $url
done
wrong_send "leave one of them out" -n --receipt "$work/receipt" "$work/file" $url
[ ! -e "$work/receipt" ] || fail "a dry run left a receipt"
wrong_send "fetch it: udtx-recv host:x \.$" host:x .
wrong_send "--files-from: cannot read '$work/dst': Is a directory" --files-from "$work/dst" "$work/file" $url
wrong_send "--exclude-from: cannot read '$work/dst': Is a directory" --exclude-from "$work/dst" "$work/file" $url
expect 11 "$recv" verify "$work/dst" "$work/dst"
said "cannot read '$work/dst': Is a directory"
expect 0 "$send" keygen --identity "$work/own"
expect 11 "$recv" --listen 127.0.0.1:0 --dir "$work/dst" --identity "$work/own" --authorized-keys "$work/dst"
said "cannot read '$work/dst': Is a directory"
wrong_send "'--frobnicate'" --frobnicate=3 "$work/file" $url
wrong_send "rate 'fast'" --rate fast "$work/file" $url
wrong_send "rate '10MB/s'" --rate 10MB/s "$work/file" $url
wrong_send "--rate" "$work/file" $url --rate
wrong_send "time 'soon'.*m, h or d" --timeout soon "$work/file" $url
wrong_send "MTU '900'" --mtu 900 "$work/file" $url
wrong_send "--cc: 'cubik'.*udt" --cc cubik "$work/file" $url
wrong_send "--policy: 'greedy'.*fixed" --policy greedy "$work/file" $url
wrong_send "needs --rate" --policy fixed "$work/file" $url
wrong_send "exclude" --policy fixed --rate 5M --min-rate 1M "$work/file" $url
wrong_send "--min-rate 5M is above --rate 4M" -m 5M -l 4M "$work/file" $url
wrong_send "--min-rate: .*'slow'" --min-rate slow "$work/file" $url
wrong_send "--bwlimit: .*'slow'" --bwlimit slow "$work/file" $url
wrong_send "exclude" --bwlimit 5000 --rate 5M "$work/file" $url
wrong_send "--schedule: '25:00,5M'" --schedule 25:00,5M "$work/file" $url
wrong_send "--host-rate: .*'fast'" --host-rate fast "$work/file" $url
wrong_send "--metrics: .*'?nowhere" --metrics nowhere "$work/file" $url
wrong_send "--log-format: 'xml'.*json" --log-format xml "$work/file" $url
wrong_send "--probe-only" --probe-only "$work/file" $url
wrong_send "--overwrite: 'often'.*never, diff or always" --overwrite often "$work/file" $url
wrong_send "--links.*exclude each other" --links --no-links "$work/file" $url
wrong_send "--from0 needs --files-from" -0 "$work/file" $url
wrong_send "--files-from: cannot read '$work/none': No such file or directory" --files-from "$work/none" "$work/dst" $url
printf '../outside\n' >"$work/names"
wrong_send "'../outside' is outside of the source" --files-from "$work/names" "$work/dst" $url
wrong_send "--files-from takes one SRC" --files-from "$work/names" "$work/dst" "$work/file" $url
wrong_send "not for standard input" -n - udtx://127.0.0.1:9/name
wrong_send "--exclude: pattern '/': it is empty" --exclude / "$work/file" $url
wrong_send "--checksum: 'md5'" --checksum md5 "$work/file" $url
wrong_send "exclude" -4 -6 "$work/file" $url
wrong_send "exclude" -q -v "$work/file" $url
wrong_send "nor udtx://" "$work/file" ./host:dir
wrong_send "port" "$work/file" udtx://127.0.0.1:0/
wrong_send "brackets" "$work/file" udtx://::1/
wrong_send "no source" $url
wrong_send "nothing to send"
wrong_send "only source" - "$work/file" $url
wrong_send "needs a name.*udtx://127.0.0.1:[0-9]*/d/NAME" - ${url}d/
wrong_send "needs a name.*/d/./NAME" - ${url}d/.
wrong_send "needs a name.*/d/../NAME" - ${url}d/..
wrong_send "needs a name.*/d/NAME" - ${url}d%2F
wrong_send "more than one destination" "$work/file" $url $url
wrong_send "exclude" --identity "$work/psk" --pin x "$work/file" $url
expect 1 "$send" "$work/file" $url
said "keygen"
expect 1 "$send" keygen
said "one file"

wrong_recv "--listen" --dir "$work/dst"
wrong_recv "--dir is missing" --listen 127.0.0.1:0
wrong_recv "--listen" --listen 127.0.0.1:99999 --dir "$work/dst"
wrong_recv "--listen: 'fd:x'" --listen fd:x --dir "$work/dst"
wrong_recv "--max-rate: .*'fast'" --listen 127.0.0.1:0 --max-rate fast --dir "$work/dst"
wrong_recv "'--directory'" --listen 127.0.0.1:0 --directory "$work/dst"
wrong_recv "--one-off" --listen 127.0.0.1:0 -
wrong_recv "exclude" --listen 127.0.0.1:0 --one-off --dir "$work/dst" -
wrong_recv "--overwrite: 'often'" --overwrite often --listen 127.0.0.1:0 --dir "$work/dst"
wrong_recv "--preserve is for fetching" -p --listen 127.0.0.1:0 --dir "$work/dst"
expect 1 "$send" -k 4 "$work/psk" host:dst
said "-k: "
for flag in --one-off --max-rate=5M --allow-delete --allow-set-id --allow-read; do
    expect 1 "$recv" "$flag" host:src "$work/dst"
    said "${flag%%=*} is for serving"
done
wrong_recv "unexpected argument" --listen 127.0.0.1:0 --dir "$work/dst" surplus
expect 1 "$recv" --listen 127.0.0.1:0 --dir "$work/dst"
said "keygen"

# With --json the object is printed even then.
expect 1 "$send" --json --rat 5M "$work/file" $url
[ "$(json_field "$work/last.out" exit_code)" -eq 1 ] || fail "exit_code"

for tool in "$send" "$recv"; do
    expect 0 "$tool" --help
    grep -q -- --psk-file "$work/last.out" || fail "help"
    ! grep -q -- --mtu "$work/last.out" || fail "--help shows a flag that few people use"
    expect 0 "$tool" --help-all
    grep -q -- --mtu "$work/last.out" || fail "--help-all"
    expect 0 "$tool" help
    grep -q "^Usage:" "$work/last.out" || fail "help as a word"
    expect 0 "$tool" -V
    grep -qE '^udtx-(send|recv) [0-9]+\.[0-9]+' "$work/last.out" || fail "-V"
    expect 0 "$tool" --version
    sed -n 1p "$work/last.out" | grep -qE "^${tool##*/} [0-9]+\.[0-9]+\.[0-9]+$" || fail "version of the program"
    sed -n 2p "$work/last.out" | grep -qE '^wire format [0-9]+(, [0-9]+)*$' || fail "version of the wire format"
    sed -n 3p "$work/last.out" | grep -qE '^transfer protocol [0-9]+, oldest understood [0-9]+$' || fail "version of the transfer protocol"
done

# The doctor examines this host; wrong words are named.
expect 0 "$recv" doctor --json --dir "$work"
json_field "$work/last.out" host | grep -q '"what":"UDP buffers: ' || fail "doctor tells nothing of buffers"
expect 0 "$send" doctor --dir "$work"
grep -q "AES-256-GCM" "$work/last.out" || fail "doctor tells nothing of ciphers"
grep -q "disk of $work: writes" "$work/last.out" || fail "doctor tells nothing of the disk"
expect 11 "$recv" doctor --dir "$work/none"
grep -A 1 "^FIX   disk of $work/none: cannot be written: No such file" "$work/last.out" | grep -q "mkdir -p" || fail "no remedy for a directory that is missing"
expect 11 "$send" doctor --json --dir "$work/none"
expect 1 "$send" doctor --dri x
said "'--dri'.*--dir"
expect 1 "$send" doctor a:1 b:2
said "one HOST"
for host in /tmp a/b user@ 'a b' udtx:// host:99999 '[::1' "$work"; do
    expect 1 "$send" doctor "$host"
    said "^udtx-send: HOST '.*' is neither \[USER@\]HOST\[:DIR\], for ssh, nor HOST:PORT"
done
expect 1 "$send" doctor ''
said "HOST is an empty string"
expect 1 "$recv" doctor 127.0.0.1:9

# The kind of a key file is seen by its content, before its rights.
expect 0 "$send" keygen --identity "$work/alice"
ssh_line="ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ5 me@host"
echo "$ssh_line" >"$work/ssh.pub"
kind() { expect "$1" "${@:3}"; said "$2"; }
kind 40 "alice.pub is a public key, and a private key is needed: give $work/alice$" \
    "$send" --identity "$work/alice.pub" --pin "$work/alice.pub" "$work/file" $url
kind 40 "alice.pub is a public key, and a shared key is needed" "$send" --psk-file "$work/alice.pub" "$work/file" $url
kind 40 "alice is a private key, and a shared key is needed" "$send" --psk-file "$work/alice" "$work/file" $url
kind 40 "psk is a shared key, and a private key is needed" "$send" --identity "$work/psk" --pin "$work/alice.pub" "$work/file" $url
kind 40 "alice is a private key, and a public key is needed: give $work/alice.pub" \
    "$send" --identity "$work/alice" --pin "$work/alice" "$work/file" $url
kind 40 "ssh.pub is a public key of ssh, and a shared key is needed" "$send" --psk-file "$work/ssh.pub" "$work/file" $url
kind 40 "alice, line 1: this is not a public key of udtx" \
    "$recv" --listen 127.0.0.1:0 --dir "$work/dst" --identity "$work/alice" --authorized-keys "$work/alice"

# Without a key in its list, a server refuses everybody, and says so.
: >"$work/nobody"
start_recv nobody --dir "$work/dst" --identity "$work/alice" --authorized-keys "$work/nobody"
grep -q "authorized-keys: $work/nobody has no key, so every client is refused" "$work/nobody.log" || fail "no warning"
