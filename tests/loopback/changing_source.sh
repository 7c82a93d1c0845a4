# F57: a source that grows, shrinks, is overwritten or replaced during the transfer. It is reported as changed, or
# arrives as it was at one moment, but is never a mixture. One that only grows arrives as it was at the start.
. "$(dirname "$0")/lib.sh"
make_key
size=80000000
head -c $size /dev/urandom >"$work/old"
head -c $size /dev/urandom >"$work/new"

change() {
    case $1 in
        grows) cat "$work/new" >>"$work/src/file" ;;
        shrinks) truncate -s 30000000 "$work/src/file" ;;
        is_overwritten) dd if="$work/new" of="$work/src/file" conv=notrunc status=none ;;
        keeps_its_time)
            dd if="$work/new" of="$work/src/file" conv=notrunc status=none
            touch -r "$work/src/other" "$work/src/file"
            ;;
        is_touched) touch "$work/src/file" ;;
        is_replaced) mv "$work/src/other" "$work/src/file" ;;
    esac
}
# The first byte of a part arrives before the last one is read: at this rate the whole file takes two seconds.
begun() { [ -n "$(find "$work/dst" -name '.*.part' -size +0)" ]; }

told=0
for how in grows shrinks is_overwritten keeps_its_time is_touched is_replaced; do
    rm -rf "$work/src" "$work/dst"
    mkdir "$work/src" "$work/dst"
    cp "$work/old" "$work/src/file"
    cp "$work/new" "$work/src/other"
    touch -d '1 hour ago' "$work/src/file"
    touch -r "$work/src/file" "$work/src/other"
    echo beside >"$work/src/z"
    start_recv "$how" --one-off --dir "$work/dst" --psk-file "$work/psk"
    "$send" --json --rate 320M --psk-file "$work/psk" "$work/src/file" "$work/src/z" "udtx://127.0.0.1:$port/" >"$work/last.out" 2>"$work/last.err" &
    sender=$!
    receivers+=("$sender")
    until_true 60 begun
    change $how
    got=0
    wait "$sender" || got=$?
    [ "$(cat "$work/dst/z" 2>/dev/null)" = beside ] || fail "$how: the file beside it did not come"
    if [ $got -eq 0 ]; then
        cmp -s "$work/old" "$work/dst/file" || cmp -s "$work/src/file" "$work/dst/file" || fail "$how: a mixture arrived"
    else
        [ $got -eq 23 ] || fail "$how: exit code $got"
        said "changed"
        [ ! -e "$work/dst/file" ] || fail "$how: it stands under its final name all the same"
        told=$((told + 1))
    fi
    if [ $how = grows ] || [ $how = is_touched ]; then
        [ $got -eq 0 ] || fail "$how: exit code $got"
        cmp "$work/old" "$work/dst/file" || fail "$how: it is not as it was at the start"
        [ $how != grows ] || said "1 file grew while being read, and came with the length of the start, first 'file'"
        [ $how != grows ] || grep -q '"warnings":\[".*grew while' "$work/last.out" || fail "$how: not in JSON"
    fi
    echo "$how: exit code $got"
done
[ $told -ge 2 ] || fail "only $told changes were noticed"

# A file that is sent as a stream is complete, as it was at one moment, or fails at both ends.
start_recv streams --dir "$work/dst" --allow-read --psk-file "$work/psk"
for how in grows shrinks is_overwritten keeps_its_time is_touched is_replaced; do
    for way in push pull; do
        rm -rf "$work/src" "$work/dst"/*
        mkdir "$work/src"
        cp "$work/old" "$work/src/file"
        cp "$work/new" "$work/src/other"
        touch -d '1 hour ago' "$work/src/file"
        touch -r "$work/src/file" "$work/src/other"
        if [ $way = push ]; then
            "$send" --json --rate 320M --psk-file "$work/psk" - "udtx://127.0.0.1:$port/file" <"$work/src/file" >"$work/last.out" 2>"$work/last.err" &
            copy=$work/dst/file
        else
            mv "$work/src" "$work/dst/src"
            ln -s dst/src "$work/src"
            "$recv" --rate 320M --psk-file "$work/psk" "udtx://127.0.0.1:$port/src/file" - >"$work/copy" 2>"$work/last.err" &
            copy=$work/copy
        fi
        tool=$!
        receivers+=("$tool")
        sleep 0.7
        change $how
        got=0
        wait "$tool" || got=$?
        case $how,$got in
            grows,0 | is_touched,0) cmp -n $size "$work/old" "$copy" || fail "$way, stream, $how: not what was there" ;;
            is_replaced,0) cmp "$work/old" "$copy" || fail "$way, stream, $how: a mixture arrived" ;;
            shrinks,11 | is_overwritten,11 | keeps_its_time,11)
                said "changed while it was read"
                [ $way = pull ] || [ ! -e "$copy" ] || fail "$way, stream, $how: it has its name all the same"
                ;;
            *) fail "$way, stream, $how: exit code $got: $(cat "$work/last.err")" ;;
        esac
        echo "stream, $way, $how: exit code $got"
    done
done
fault_case F57 "a source grows, shrinks, is overwritten or replaced: \"changed\" or complete, never mixed" "$told reported, $((6 - told)) complete, 0 mixed"

# --- names that have become something else since they were found
rm -rf "$work/src" "$work/dst"
mkdir "$work/src" "$work/dst"
for kind in FIFO directory link; do echo "was a file" >"$work/src/$kind"; done
cp "$work/old" "$work/src/file"
start_recv kinds --one-off --dir "$work/dst" --psk-file "$work/psk"
"$send" --rate 320M --psk-file "$work/psk" "$work/src/file" "$work/src/FIFO" "$work/src/directory" "$work/src/link" \
    "udtx://127.0.0.1:$port/" >"$work/last.out" 2>"$work/last.err" &
sender=$!
receivers+=("$sender")
until_true 60 begun
rm "$work/src/FIFO" "$work/src/directory" "$work/src/link"
mkfifo "$work/src/FIFO"
mkdir "$work/src/directory"
ln -s file "$work/src/link"
wait_for 23 "$sender"
said "'FIFO' was a file when it was found, and is a FIFO now: send it again"
said "'directory' was a file when it was found, and is a directory now"
said "'link' was a file when it was found, and is a symbolic link now"
cmp "$work/old" "$work/dst/file"
