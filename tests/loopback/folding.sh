# File systems that change names. A delivered file is never deleted or replaced because its name reads differently
# there. If two names become one there, the second fails. Stale files are still deleted.
. "$(dirname "$0")/lib.sh"
has_fuse || skip "$no_fuse"
command -v fusermount >/dev/null || command -v fusermount3 >/dev/null || skip "no fusermount here"
unmount() { fusermount -u "$1" 2>/dev/null || fusermount3 -u "$1" 2>/dev/null || umount "$1" 2>/dev/null; }
unmount_all() {
    local status=$? at
    for at in "$work"/mount.*; do [ ! -d "$at" ] || unmount "$at" || true; done
    [ -z "${loop:-}" ] || losetup -d "$loop" 2>/dev/null || true
    set +e
    (exit "$status")
    cleanup
}
trap unmount_all EXIT
make_key

# mount_rules RULES: sets $disk, and $below, the directory that it shows.
mount_rules() {
    below=$work/below.$1
    disk=$work/mount.$1
    mkdir -p "$below"
    mount_fuse "$disk" folding_fs.py "$1" "$below" || skip "$no_fuse"
}
# end_disk: ends the receiver first, as its open files keep the file system busy.
end_disk() {
    kill -KILL "$receiver"
    wait "$receiver" 2>/dev/null || true
    unmount "$disk" || fail "cannot unmount $disk"
}
copy() { expect "$1" "$send" --json --psk-file "$work/psk" "${@:2}"; }
plan() { expect "$1" "$send" -n --psk-file "$work/psk" "${@:2}"; }
is() { [ "$(json_field "$work/last.out" "$1")" = "$2" ] || fail "$rules: $1 is $(json_field "$work/last.out" "$1") instead of $2"; }
holds() { [ "$(cat "$disk/$1" 2>/dev/null)" = "$2" ] || fail "$rules: $1 holds '$(cat "$disk/$1" 2>&1)' instead of '$2'"; }
# all_came SOURCE DESTINATION: every file that the last run did not report as failed is in DESTINATION as in SOURCE.
all_came() {
    "$python" - "$work/last.out" "$1" "$disk/$2" <<'EOF' || fail "$rules: what was confirmed is not there"
import json, os, sys
failed = [f["path"] for f in json.load(open(sys.argv[1]))["failed"]]
kind = lambda p: ("link", os.readlink(p)) if os.path.islink(p) else ("directory",) if os.path.isdir(p) else open(p).read()
for directory, below, names in os.walk(sys.argv[2]):
    for name in below + names:
        at = os.path.join(directory, name)
        path = os.path.relpath(at, sys.argv[2])
        if any(path == f or path.startswith(f + "/") for f in failed):
            continue
        came = os.path.join(sys.argv[3], path)
        found = kind(came) if os.path.lexists(came) else "nothing"
        if found != kind(at):
            sys.exit(f"{path} is {found}, and failed are {failed}")
EOF
}
entries() { find "$disk/$1" -mindepth 1 | wc -l; }

# check FIRST SECOND: two names that are one on this disk.
check() {
    local first=$1 second=$2 s=$work/source.$rules
    mkdir -p "$s/one/deep" "$s/two" "$s/pair" "$s/kinds"
    # --- a file that an earlier run left under another spelling is updated in place, and stays
    mkdir -p "$disk/one"
    echo old >"$disk/one/$second"
    echo x >"$disk/one/stale"
    echo 1 >"$s/one/$first"
    echo 2 >"$s/one/plain"
    echo 3 >"$s/one/deep/$first"
    plan 0 --delete "$s/one/" "$url/one"
    [ "$(grep '^\*deleting ' "$work/last.out")" = "*deleting   stale" ] || fail "$rules: the dry run lists $(cat "$work/last.out")"
    for run in 1 2; do
        copy 0 --delete "$s/one/" "$url/one"
        holds "one/$first" 1
        holds one/plain 2
        holds "one/deep/$first" 3
        [ ! -e "$disk/one/stale" ] || fail "$rules: what is stale stays"
        [ "$(entries one)" -eq 4 ] || fail "$rules: $(ls -R "$disk/one")"
    done
    is unchanged 3
    # --- a directory with another spelling, and a stale file in it
    mv "$s/one/deep" "$s/one/swap"
    mkdir "$s/one/d$second"
    echo 4 >"$s/one/d$second/inner"
    mkdir "$disk/one/d$first"
    echo x >"$disk/one/d$first/old"
    copy 0 --delete "$s/one/" "$url/one"
    holds "one/d$second/inner" 4
    [ ! -e "$disk/one/d$first/old" ] || fail "$rules: what is stale stays in a directory that reads otherwise"
    holds "one/$first" 1
    # --- the same without --delete: the first name keeps its content, the other fails and is named
    echo first >"$s/pair/$first"
    copy 0 "$s/pair/" "$url/pair"
    echo 'the second' >"$s/pair/$second"
    for run in 1 2; do
        copy 23 "$s/pair/" "$url/pair"
        said "are the same on the receiver"
        is failed_count 1
        [ "$(entries pair)" -eq 1 ] || [ -n "$(find "$disk/pair" -name '.udtx*')" ] || fail "$rules: $(ls "$disk/pair")"
        holds "pair/$first" first
    done
    copy 23 "$s/pair/" "$url/fresh"
    is files 1
    is failed_count 1
    copy 23 --overwrite never "$s/pair/" "$url/fresh"
    is failed_count 1
    # --- directories merge, but colliding files in them fail
    mkdir "$s/two/$first" "$s/two/$second"
    echo a >"$s/two/$first/a"
    echo b >"$s/two/$second/b"
    for run in 1 2; do
        copy 0 --delete "$s/two/" "$url/two"
        holds "two/$first/a" a
        holds "two/$first/b" b
        [ "$(entries two)" -eq 3 ] || fail "$rules: $(ls -R "$disk/two")"
    done
    echo c1 >"$s/two/$first/c"
    echo c22 >"$s/two/$second/c"
    copy 23 "$s/two/" "$url/two"
    is failed_count 1
    # --- a file and a directory, a link and a file: one of them exists, complete
    echo file >"$s/kinds/$first"
    mkdir "$s/kinds/$second"
    echo inside >"$s/kinds/$second/x"
    ln -s x "$s/kinds/$second/link"
    mkdir "$s/kinds/$second/empty"
    for run in 1 2; do
        copy 23 --delete "$s/kinds/" "$url/kinds"
        all_came "$s/kinds" kinds
    done
    [ "$(cat "$disk/kinds/$first" 2>/dev/null)" = file ] || holds "kinds/$second/x" inside
    rm -r "$s/kinds/$second"
    ln -s elsewhere "$s/kinds/$second"
    copy 23 "$s/kinds/" "$url/links"
    is failed_count 1
}

# together NAME...: if names become one on this disk, all but one fail, even after earlier runs.
together() {
    local s=$work/together.$rules name i=0
    mkdir -p "$s/fresh" "$s/again" "$s/kinds" "$disk/again/way"
    echo x >"$disk/again/way/x"
    echo x >"$s/again/way"
    for name in "$@"; do
        i=$((i + 1))
        echo "content $i, and more of it" >"$s/fresh/$name"
        echo "content $i" >"$s/again/$name"
        touch -d '2020-01-01 UTC' "$s/again/$name"
    done
    # One name keeps the content that is proven to be its own. The other looks the same, and fails again.
    for run in 1 2 3; do
        copy 23 "$s/fresh/" "$url/fresh"
        is failed_count $(($# - 1))
        all_came "$s/fresh" fresh
        copy 23 "$s/again/" "$url/again"
        is failed_count "$#"
        all_came "$s/again" again
    done
    mkdir "$s/kinds/$1"
    echo inside >"$s/kinds/$1/x"
    ln -s x "$s/kinds/$1/link"
    echo file >"$s/kinds/$2"
    for run in 1 2; do
        copy 23 --delete "$s/kinds/" "$url/kinds.together"
        all_came "$s/kinds" kinds.together
    done
}
for rules in nfkc,fold,inodes nfkc,fold; do
    mount_rules "$rules"
    start_recv "recv.$rules" --allow-delete --dir "$disk" --psk-file "$work/psk"
    url=udtx://127.0.0.1:$port
    together FILE $'\xef\xac\x81le'
    kill -KILL "$receiver"
done

# --- a name whose file has other names that arrived is stale like any other
rules=fold,inodes
mount_rules "$rules"
start_recv linked --allow-delete --dir "$disk" --psk-file "$work/psk"
mkdir "$disk/linked" "$work/linked"
echo old >"$disk/linked/name"
ln "$disk/linked/name" "$disk/linked/stale"
echo new >"$work/linked/name"
copy 0 --delete "$work/linked/" "udtx://127.0.0.1:$port/linked"
[ "$(ls "$disk/linked")" = name ] || fail "$rules: $(ls "$disk/linked")"
end_disk
rm -r "$below"

for rules in fold,inodes fold small,inodes nfd,inodes nfd dots; do
    mount_rules "$rules"
    start_recv "recv.$rules" --allow-delete --dir "$disk" --psk-file "$work/psk"
    url=udtx://127.0.0.1:$port
    case $rules in
        nfd*) check $'caf\xc3\xa9' $'cafe\xcc\x81' ;;
        dots) check name name. ;;
        *) check Name nAME ;;
    esac
    kill -KILL "$receiver"
done

# --- excluded names are excluded in whatever case they read on this disk
rules=large,inodes
mount_rules "$rules"
start_recv large --allow-delete --dir "$disk" --psk-file "$work/psk"
url=udtx://127.0.0.1:$port
mkdir "$work/s"
for f in kept.log goes.txt stays.txt; do echo "$f" >"$work/s/$f"; done
copy 0 "$work/s/" "$url/"
rm "$work/s/goes.txt"
copy 0 --delete --exclude '*.log' "$work/s/" "$url/"
is deleted 1
[ "$(ls "$below" | sort | tr '\n' ' ')" = "KEPT.LOG STAYS.TXT " ] || fail "$rules: $(ls "$below")"

# --- different files with one inode number are sent separately, from such a disk and to it
mkdir "$work/files"
for i in 1 2 3; do echo "content of $i" >"$work/files/$i"; done
rules=twins
mount_rules twins
cp -r "$work/files/." "$below/"
mkdir "$work/dst"
start_recv twins --allow-delete --dir "$work" --psk-file "$work/psk"
copy 0 -a "$disk/" "udtx://127.0.0.1:$port/dst"
diff -r "$work/files" "$work/dst" || fail "files that share an inode number arrived as one"
ln "$work/files/1" "$work/files/4"
rm "$below"/*
echo other >"$below/1"
echo others >"$below/4"
copy 0 -a "$work/files/" "udtx://127.0.0.1:$port/mount.twins"
diff -r "$work/files" "$below" || fail "a name that shares an inode number was taken for a link"
# the same with equal sizes and times, and an equal beginning
mkdir "$below/same" "$below/first" "$below/second" "$work/first" "$work/second"
for i in 1 2 3; do { head -c 100000 /dev/zero && echo "$i"; } >"$below/same/$i"; done
echo one >"$below/first/name"
echo two >"$below/second/name"
touch -d 2020-01-01 "$below"/*/*
copy 0 -a "$disk/same" "udtx://127.0.0.1:$port/dst"
diff -r "$below/same" "$work/dst/same" || fail "files with one inode number, size and time arrived as one"
cp -p "$below/first/name" "$work/first/name"
ln "$work/first/name" "$work/second/name"
copy 0 -a "$work/first" "$work/second" "udtx://127.0.0.1:$port/mount.twins"
cmp "$work/second/name" "$below/second/name" || fail "a file with the inode number, size and time of another was taken for a link"

# --- real disks, if they can be mounted
mount_image() {
    disk=$work/mount.$1
    mkdir "$disk"
    truncate -s 64M "$work/image"
    case $1 in
        ntfs) mkfs.ntfs -F -Q "$work/image" >/dev/null 2>&1 && lowntfs-3g -o ignore_case "$work/image" "$disk" 2>/dev/null ;;
        exfat) mkfs.exfat "$work/image" >/dev/null 2>&1 && loop=$(losetup -f --show "$work/image" 2>/dev/null) &&
            mount.exfat-fuse "$loop" "$disk" >/dev/null 2>&1 ;;
    esac
}
PATH=$PATH:/usr/sbin:/sbin
for rules in ntfs exfat; do
    if ! mount_image "$rules"; then
        echo "not tried: $rules cannot be mounted here"
        continue
    fi
    start_recv "$rules" --allow-delete --dir "$disk" --psk-file "$work/psk"
    url=udtx://127.0.0.1:$port
    mkdir -p "$work/disk.$rules"
    echo 1 >"$work/disk.$rules/README"
    echo 2 >"$work/disk.$rules/plain"
    echo old >"$disk/readme"
    echo x >"$disk/stale"
    copy 0 --delete "$work/disk.$rules/" "$url/"
    holds README 1
    holds plain 2
    [ ! -e "$disk/stale" ] || fail "$rules: what is stale stays"
    echo 22 >"$work/disk.$rules/readMe"
    copy 23 "$work/disk.$rules/" "$url/"
    is failed_count 1
    grep -qxE '1|22' "$disk/README" || fail "$rules: README holds '$(cat "$disk/README")'"
    end_disk
    rm "$work/image"
done
