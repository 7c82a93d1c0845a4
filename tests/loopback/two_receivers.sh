# F66: two receivers write the same name in the same directory at the same time: one succeeds, the other fails cleanly.
. "$(dirname "$0")/lib.sh"
make_key
mkdir "$work/dst" "$work/a" "$work/b"
head -c 20000000 /dev/urandom >"$work/a/file"
head -c 20000000 /dev/urandom >"$work/b/file"
start_recv first --dir "$work/dst" --psk-file "$work/psk"
first=$port
start_recv second --dir "$work/dst" --psk-file "$work/psk"
# begin PORT NAME: sends NAME's file to PORT
begin() {
    "$send" --rate 80M --timeout 20 --psk-file "$work/psk" "$work/$2/file" "udtx://127.0.0.1:$1/" 2>"$work/$2.err" &
    receivers+=("$!")
}

# race NAME OTHER WHAT: sends NAME's file to the first receiver and OTHER's to the second, at once.
race() {
    local codes=() got pid winners=0 left
    rm -rf "$work/dst/file"
    begin "$first" "$1"
    begin "$port" "$2"
    for pid in "${receivers[@]: -2}"; do
        got=0
        wait "$pid" || got=$?
        [[ $got =~ ^(0|11|23)$ ]] || fail "$3: exit code $got"
        [ $got -ne 0 ] || winners=$((winners + 1))
        codes+=("$got")
    done
    [ $winners -ge 1 ] || fail "$3: both lost: ${codes[*]}"
    cmp -s "$work/$1/file" "$work/dst/file" || cmp -s "$work/$2/file" "$work/dst/file" || fail "$3: a mixture of both"
    left=$(find "$work/dst" -mindepth 1 ! -name file | wc -l)
    [ "$left" -eq 0 ] || [ $winners -eq 1 ] || fail "$3: $left files were left behind"
    fault_case F66 "two receivers, one name, $3: a complete file of one of them, and each ends with 0 or its reason" \
        "exit codes ${codes[*]}, $left left behind"
}
race a b "two transfers"
race a a "the same transfer twice"
