# The power fails as soon as the sender has heard that all is delivered: everything is there, whole, also where another
# file system is mounted below the target. What the kernel had not written to the images of the disks by then is lost.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" -eq 0 ] || skip "disks can be mounted by root only"
make_key
top=$work/dst

plug() {  # plug KIND IMAGE AT
    mkdir -p "$3"
    mount -o loop "$2" "$3" 2>"$work/mount.err" || return 1
    mounted+=("$3")
}
make() {  # make KIND IMAGE
    truncate -s 160M "$2"
    case $1 in
        ext4) mkfs.ext4 -q -F "$2" ;;
        xfs) truncate -s 320M "$2" && mkfs.xfs -q -f "$2" ;;
        btrfs) mkfs.btrfs -q -f "$2" ;;
    esac >"$work/mkfs.log" 2>&1
}
cut_power() {
    cp --sparse=always "$work/top.img" "$work/top.cut"
    cp --sparse=always "$work/sub.img" "$work/sub.cut"
    kill -KILL "$receiver"
    wait "$receiver" 2>/dev/null || true
    umount "$top/tree/sub"
    umount "$top"
    mv "$work/top.cut" "$work/top.img"
    mv "$work/sub.cut" "$work/sub.img"
    plug "$1" "$work/top.img" "$top" && plug "$1" "$work/sub.img" "$top/tree/sub" || fail "$1 cannot be mounted after the cut"
}
fill() {  # fill DIRECTORIES SIZE: under the source, and of it below what is mounted there
    local i
    rm -rf "$work/tree"
    mkdir -p "$work/tree/sub/empty"
    for i in $(seq "$1"); do
        mkdir -p "$work/tree/$i" "$work/tree/sub/$i/$i"
        head -c "$2" /dev/urandom | tee "$work/tree/$i/f" "$work/tree/sub/$i/$i/g" >"$work/tree/sub/$i/h"
        ln -s "f$i" "$work/tree/sub/$i/l"
    done
    head -c 20000000 /dev/urandom >"$work/tree/sub/large"
}

tried=
for kind in ext4 xfs btrfs; do
    PATH=$PATH:/usr/sbin:/sbin command -v "mkfs.$kind" >/dev/null || continue
    make $kind "$work/top.img" && make $kind "$work/sub.img" || continue
    plug $kind "$work/top.img" "$top" || continue
    plug $kind "$work/sub.img" "$top/tree/sub" || continue
    tried="$tried $kind"
    # New files and newer versions; of few directories, which are synced one by one, and of many.
    for run in "40 5000" "40 7000" "5 3000" "5 100000"; do
        # shellcheck disable=SC2086
        fill $run
        start_recv r --dir "$top" --psk-file "$work/psk"
        expect 0 "$send" -p --psk-file "$work/psk" "$work/tree" "udtx://127.0.0.1:$port/"
        cut_power $kind
        (cd "$work/tree" && find . -mindepth 1 -type f -print0 | xargs -0 sha256sum) >"$work/sums"
        (cd "$top/tree" && sha256sum --quiet -c "$work/sums") >"$work/differ" 2>&1 ||
            fail "$kind, $run: after the cut $(grep -c FAILED "$work/differ") of $(wc -l <"$work/sums") files are not as confirmed"
        [ -d "$top/tree/sub/empty" ] || fail "$kind: the empty directory is gone"
        [ "$(readlink "$top/tree/sub/3/l")" = f3 ] || fail "$kind: a link is gone"
    done
    umount "$top/tree/sub"
    umount "$top"
done
[ -n "$tried" ] || skip "no disk image can be mounted here: $(cat "$work/mount.err" 2>/dev/null)"
echo "tried:$tried"
