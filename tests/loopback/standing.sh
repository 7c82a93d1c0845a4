# Existing files, unchanged or not to be overwritten, do not count as undelivered. This holds at both ends, in text and
# JSON, over one transfer and several, for complete and interrupted ones.
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/src" "$work/dst" "$work/got"
for i in 1 2 3; do echo "$i" >"$work/src/f$i"; done
ln -s f1 "$work/src/link"
ln "$work/src/f1" "$work/src/other"
cp -a "$work/src/." "$work/dst/"
cp -a "$work/src/." "$work/got/"

is() { [ "$(json_field "$1" "$2")" = "$3" ] || fail "$1: $2 is $(json_field "$1" "$2") instead of $3"; }
# stop_server SIGNAL: its final messages are in last.err afterwards.
stop_server() {
    kill "-$1" "$receiver"
    wait_for "130|0" "$receiver"
    tail -n 1 "$work/r.log" >"$work/last.err"
}

# --- a server that is interrupted after runs without any work
for options in "-a" "" "-a --overwrite never"; do
    start_recv r --json --dir "$work/dst" --psk-file "$work/psk"
    # shellcheck disable=SC2086
    for _ in 1 2; do expect 0 "$send" -q $options --psk-file "$work/psk" "$work/src/" "udtx://127.0.0.1:$port/"; done
    stop_server INT
    said "interrupted by SIGINT: nothing was delivered, .*(unchanged|not overwritten)"
    never_said "not delivered"
    is "$work/r.out" failed_count 0
    is "$work/r.out" exit_code 130
done

# --- entries that exist count as unchanged, whatever their type: at both ends, in a dry run as in the run
mkdir -p "$work/all/a/b" "$work/all/c" "$work/taken"
echo x >"$work/all/a/b/x"
: >"$work/all/empty"
ln "$work/all/a/b/x" "$work/all/twin"
ln -s a "$work/all/link"
start_recv all --allow-read --allow-delete --dir "$work/taken" --psk-file "$work/psk"
# does TOOL ARGS...: a dry run, which must count as the run after it does.
does() {
    expect 0 "$@" -n --json
    cp "$work/last.out" "$work/plan.json"
    expect 0 "$@" --json
    for field in files directories symlinks bytes unchanged unchanged_directories; do
        is "$work/plan.json" $field "$(json_field "$work/last.out" $field)"
    done
}
# counts FIELD=VALUE...: in last.out
counts() { local pair; for pair in "$@"; do is "$work/last.out" "${pair%=*}" "${pair#*=}"; done; }
for way in push pull; do
    if [ "$way" = push ]; then
        from=$work/all
        number=1
        tool=$send
        ends=(--psk-file "$work/psk" "$from/" "udtx://127.0.0.1:$port/t")
    else
        from=$work/taken/t
        number=2
        tool=$recv
        ends=(--psk-file "$work/psk" "udtx://127.0.0.1:$port/t/" "$work/fetched")
    fi
    run=("$tool" -a "${ends[@]}")
    rm -f "$from/a/b/new"
    does "${run[@]}"
    counts files=3 directories=3 symlinks=1 unchanged=0 unchanged_directories=0
    for more in "" --delete "--overwrite never"; do
        # shellcheck disable=SC2086
        does "${run[@]}" $more
        [ "$more" = "--overwrite never" ] || counts unchanged=4
        counts files=0 directories=0 symlinks=0
    done
    does "${run[@]}"
    counts files=0 directories=0 symlinks=0 unchanged=4 unchanged_directories=3
    said ": 0 files, 0 B, 4 unchanged"
    chmod 71$number "$from/a"
    does "$tool" "${ends[@]}"
    counts directories=0 unchanged_directories=3
    does "${run[@]}"
    counts directories=1 unchanged_directories=2
    touch -d 2001-02-0$number "$from/c"
    does "${run[@]}"
    counts directories=1 unchanged_directories=2
    # A file that comes changes the time of its directory, which is then set.
    echo new >"$from/a/b/new"
    does "${run[@]}"
    counts files=1 directories=1 unchanged_directories=2
    if [ "$(id -u)" -eq 0 ] && chown 123$number "$from/c" 2>/dev/null; then
        does "${run[@]}"
        counts directories=1 unchanged_directories=2
    fi
    if setfattr -n user.name -v $number "$from/a" 2>/dev/null; then
        does "${run[@]}"
        counts directories=1 unchanged_directories=2
    fi
    does "${run[@]}"
    counts files=0 directories=0 unchanged_directories=3
done
kill -TERM "$receiver"
wait_for 0 "$receiver"
# the server's own report, which counts each run
start_recv own --json --dir "$work/taken" --psk-file "$work/psk"
for _ in 1 2; do expect 0 "$send" -a --psk-file "$work/psk" "$work/all/" "udtx://127.0.0.1:$port/again"; done
kill -TERM "$receiver"
wait_for 0 "$receiver"
cp "$work/own.out" "$work/last.out"
counts files=4 directories=3 unchanged=5 unchanged_directories=3

# --- transfers that are cut off, with existing files and one in transit
# The file is smaller than the sender's read-ahead: the files after it in the list are reported while it is sent.
head -c 3000000 /dev/urandom >"$work/src/zbig"
mkdir "$work/new"
echo 4 >"$work/src/new4"
# cut NAME PID: interrupts the side that connected, once the file has started to arrive.
begun() { [ -n "$(find "$1" -name '.*.part' -size +0 | head -n 1)" ]; }
for options in "" "-a" "--overwrite never"; do
    rm -f "$work"/{dst,got}/.*udtx* "$work"/{dst,got}/new4
    # shellcheck disable=SC2086
    for way in push pull; do
        start_recv r --json --dir "$([ "$way" = push ] && echo "$work/dst" || echo "$work/src")" --psk-file "$work/psk" --allow-read
        if [ "$way" = push ]; then
            takes_int "$send" --json --rate 2M $options --psk-file "$work/psk" "$work/src/" "udtx://127.0.0.1:$port/" \
                >"$work/cut.json" 2>"$work/last.err" &
        else
            takes_int "$recv" --json --rate 2M $options --psk-file "$work/psk" "udtx://127.0.0.1:$port/" "$work/got" \
                >"$work/cut.json" 2>"$work/last.err" &
        fi
        cut=$!
        receivers+=("$cut")
        until_true 60 begun "$([ "$way" = push ] && echo "$work/dst" || echo "$work/got")"
        sleep 1.5  # by then all files after it in the list have been reported
        kill -INT "$cut"
        wait_for 130 "$cut"
        if [ "$(json_field "$work/cut.json" confirmed)" = true ]; then
            is "$work/cut.json" failed_count 1
            said "[^0-9]1 file not delivered"
        fi
        stop_server TERM
        [ "$(json_field "$work/r.out" confirmed)" != true ] || is "$work/r.out" failed_count 1
    done
done
