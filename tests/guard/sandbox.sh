# A server that was taken over writes only inside DIR and starts no program. The attacker's attempts run in the server's
# own process. sandbox.sh TOOLS JSON_CHECK TAKEN_OVER
. "$(dirname "$0")/../loopback/lib.sh"
attacker=$3
make_key
ports=()
senders=()

# Creates the files that exist before the attempts, in $work/NAME.
lay_out() {
    local at=$work/$1
    mkdir -p "$at/in/mount" "$at/out/empty"
    echo mine >"$at/in/mine"
    cp /bin/true "$at/in/program"
    echo theirs >"$at/out/file"
    echo theirs >"$at/out/doomed"
    ln -s "$at/out" "$at/in/way-out"
    sleep 600 &
    bystander=$!
    receivers+=("$bystander")
    echo "$bystander" >"$at/bystander"
    if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=1m none "$at/in/mount" 2>/dev/null; then
        mounted+=("$at/in/mount")
        echo here >"$at/in/mount/here"
    fi
}
contents() { (cd "$1" && find . -printf '%P %y %m %s\n' | sort && cat file doomed); }

# take_over NAME FLAGS...: runs the attempts in a server with these flags; their lines are in NAME.out.
take_over() {
    local name=$1
    shift
    lay_out "$name"
    contents "$work/$name/out" >"$work/$name.before"
    LD_PRELOAD=$attacker UDTX_TAKEN_OVER=$work/$name start_recv "$name" -v --dir "$work/$name/in" --psk-file "$work/psk" "$@"
    echo x >"$work/file"
    expect 0 "$send" --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/"
    cmp -s "$work/file" "$work/$name/in/file" || fail "what was sent did not arrive"
    touch "$work/$name/now"
    until_true 60 grep -q '^over$' "$work/$name.out"
}

# Each attempt is effective: without a sandbox it succeeds.
take_over bare --sandbox off
grep -q 'no sandbox: --sandbox off' "$work/bare.log" || fail "it does not say that there is none"
! grep -vE ' done$|^over$|^root-|^seen-|^scopes ' "$work/bare.out" || fail "an attempt fails without any sandbox"
terminals=1
[ -c /dev/ptmx ] || terminals=0
if [ "$(id -u)" -eq 0 ] && [ -n "${mounted[*]}" ]; then
    [ "$(grep -cE '^root-.* done$' "$work/bare.out")" -eq $((2 + terminals)) ] || fail "root cannot do what root can: $(grep ^root "$work/bare.out")"
fi
! kill -0 "$bystander" 2>/dev/null || [ "$(awk '{ print $3 }' "/proc/$bystander/stat")" = Z ] || fail "the bystander lives"

code=0
"$recv" --sandbox on --one-off --listen 127.0.0.1:0 --dir "$work" --psk-file "$work/nothing" 2>"$work/last.err" || code=$?
[ "$code" -ne 0 ] || fail "a key that is not there was read"
# On a kernel without Landlock, `on` refuses to serve and `auto` serves.
timeout 5 "$recv" --sandbox on --one-off --listen 127.0.0.1:0 --dir "$work" --psk-file "$work/psk" 2>"$work/last.err" || code=$?
if grep -q 'no Landlock' "$work/last.err"; then
    said '^udtx-recv: --sandbox on: this system has no Landlock'
    [ "$code" -eq 11 ] || fail "code $code instead of 11"
    start_recv auto -v --dir "$work" --psk-file "$work/psk"
    grep -q 'writes anywhere' "$work/auto.log" || fail "it does not say what it lacks"
    skip "this kernel has no Landlock"
fi

take_over held
grep -q 'sandbox: writes below its directories only; starts no programs' "$work/held.log" || fail "no line says what holds"
! grep -E '^(in|mount)-' "$work/held.out" | grep -v ' done$' || fail "the sandbox refuses what is the server's own"
! grep -E '^(out|root)-' "$work/held.out" | grep -vE ' (EACCES|EPERM|EXDEV)$' || fail "the sandbox lets something out"
[ "$(grep -cE '^(out|root)-' "$work/held.out")" -eq 25 ] || fail "attempts are missing"
! grep -E '^seen-' "$work/held.out" | grep -v ' EPERM$' || fail "the system is asked for what is refused"
[ "$(grep -c '^seen-' "$work/held.out")" -eq "$(grep -c '^seen-' "$work/bare.out")" ] || fail "attempts are missing"
# Only newer kernels can restrict which processes get signals.
if grep -q '^scopes done$' "$work/held.out"; then
    grep -q '^signal EPERM$' "$work/held.out" && kill -0 "$bystander" || fail "a signal went out"
fi
contents "$work/held/out" | diff "$work/held.before" - || fail "something changed outside"
for status in "/proc/$receiver/task"/*/status; do
    grep -qE '^NoNewPrivs:\s1$' "$status" || fail "a thread may gain rights"
    grep -qE '^Seccomp:\s2$' "$status" || fail "a thread has no filter"
done

# If another directory replaces DIR, the server does not write to it, and the sender gets the reason.
mv "$work/held/in" "$work/held/was"
mkdir "$work/held/in"
expect 11 "$send" --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/"
said 'the directory was replaced or mounted again after the start.*start the server again'
grep -q 'refused 127.0.0.1.*start the server again' "$work/held.log" || fail "the server does not say it"
rmdir "$work/held/in"
mv "$work/held/was" "$work/held/in"
expect 0 "$send" --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/again"

# The same with a directory for each key: the directory of a key that only reads is not written, nor is DIR.
for name in alice bob server; do "$send" keygen --identity "$work/$name" 2>/dev/null; done
lay_out keyed
mkdir "$work/keyed/in/alice" "$work/keyed/in/bob"
{ echo "dir=\"alice\",read $(cut -d' ' -f1,2 "$work/alice.pub")"; echo "dir=\"bob\" $(cut -d' ' -f1,2 "$work/bob.pub")"; } >"$work/allowed"
touch "$work/keyed/now"
LD_PRELOAD=$attacker UDTX_TAKEN_OVER=$work/keyed start_recv keyed --sandbox on --dir "$work/keyed/in" --identity "$work/server" \
    --authorized-keys "$work/allowed"
until_true 60 grep -q '^over$' "$work/keyed.out"
grep -qE '^in-create EACCES$' "$work/keyed.out" || fail "DIR itself is written, which no key may"
expect 0 "$send" --identity "$work/bob" --pin "$work/server.pub" "$work/file" "udtx://127.0.0.1:$port/"
cmp -s "$work/file" "$work/keyed/in/bob/file" || fail "a key that may write does not"

# The other files that it has to write are written: log, report, receipt. It removes its control socket.
mkdir -p "$work/full" "$work/kept" "$work/run"
chmod 700 "$work/run"
extra=(--log "$work/kept/log" --receipt "$work/kept/receipt")
"$recv" --help-all >"$work/help"
! grep -q -- --report "$work/help" || extra+=(--report "$work/kept/report.html")
XDG_RUNTIME_DIR=$work/run start_recv full --one-off --sandbox on --dir "$work/full" --psk-file "$work/psk" "${extra[@]}"
expect 0 "$send" --psk-file "$work/psk" "$work/file" "udtx://127.0.0.1:$port/"
wait_for 0 "$receiver"
for file in log receipt; do [ -s "$work/kept/$file" ] || fail "no $file"; done
[ ${#extra[@]} -le 4 ] || [ -s "$work/kept/report.html" ] || fail "no report"
[ -z "$(find "$work/run" -name '*.sock')" ] || fail "the control socket stays"
expect 0 "$recv" verify "$work/kept/receipt" "$work/full"

# Two servers find each other in the runtime directory and share one rate. How much longer that takes depends on the
# machine. If a server can no longer create its file there, it reports that.
mkdir "$work/one" "$work/two"
head -c 6000000 /dev/urandom >"$work/data"
for name in one two; do
    XDG_RUNTIME_DIR=$work/run start_recv "$name" --host-rate 20M --dir "$work/$name" --psk-file "$work/psk"
    ports[${#ports[@]}]=$port
done
begun=$EPOCHREALTIME
for at in "${ports[@]}"; do
    timeout 240 "$send" --psk-file "$work/psk" "$work/data" "udtx://127.0.0.1:$at/" 2>"$work/shared-$at.err" &
    senders+=("$!")
done
receivers+=("${senders[@]}")
shares() { [ "$(find "$work/run/udtx" -name 'share-*' | wc -l)" -eq "$1" ]; }
until_true 60 shares 2
for sender in "${senders[@]}"; do wait_for 0 "$sender"; done
# Each knows of the other after at most a second. Without the other it would take 2.4 seconds.
awk -v a="$begun" -v b="$EPOCHREALTIME" 'BEGIN { exit !(b - a > 2.8) }' || fail "12 MB at 20 Mbit/s in all took less than 2.8 s"
until_true 60 shares 0
! grep 'not shared' "$work/one.log" "$work/two.log" || fail "a server that shares its rate has something to warn of"
rm -r "$work/run/udtx"
truncate -s 1000000 "$work/data"
expect 0 "$send" --psk-file "$work/psk" "$work/data" "udtx://127.0.0.1:$port/again"
until_true 60 grep -q ' the rate of --host-rate is not shared: cannot make ' "$work/two.log"

# A path without a directory is refused at the start, also behind a link.
if grep -q -- --report "$work/help"; then
    ln -s "$work/nowhere/report.html" "$work/kept/dangling"
    expect 11 "$recv" --sandbox on --one-off --listen 127.0.0.1:0 --dir "$work/full" --psk-file "$work/psk" --report "$work/kept/dangling"
    said '--report: cannot write .*/dangling: No such file'

    expect 11 "$recv" --sandbox on --one-off --listen 127.0.0.1:0 --dir "$work/full" --psk-file "$work/psk" --report "$work/nowhere/r"
    said '--report: cannot write .*/nowhere/r: No such file'
    # A report that is removed meanwhile is written all the same.
    for report in removed replaced; do
        [ "$report" = removed ] || echo earlier >"$work/kept/replaced"
        start_recv "$report" --one-off --sandbox on --dir "$work/full" --psk-file "$work/psk" --report "$work/kept/$report"
        rm "$work/kept/$report"
        expect 0 "$send" --psk-file "$work/psk" "$work/data" "udtx://127.0.0.1:$port/$report"
        wait_for 0 "$receiver"
        grep -q '</html>' "$work/kept/$report" || fail "no report where it was removed"
    done
fi
