# Shared by the loopback tests: real udtx-send and udtx-recv processes on 127.0.0.1. A test sources it with the tools'
# directory as its first argument. Each test has its own directory and uses free ports only, so tests may run at the
# same time.
set -euo pipefail

bin=$1
checker=$2
send=$bin/udtx-send
recv=$bin/udtx-recv
# Prefers memory to a disk that may be busy, if there is enough memory.
if [ -z "${TMPDIR:-}" ] && [ -w /dev/shm ] && [ "$(df -k --output=avail /dev/shm | tail -n 1)" -gt 1000000 ]; then
    TMPDIR=/dev/shm
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/udtx-loopback.XXXXXX")
receivers=()
mounted=()  # mount points of the test; unmounted at its end
# Settings of the user who runs the tests must not affect them.
for name in $(compgen -e UDTX_ || true); do [[ $name =~ ^UDTX_(KILL_POINTS|WHOLE_MATRIX)$ ]] || unset "$name"; done
whole=${UDTX_WHOLE_MATRIX:-}  # runs cases of the fault matrix at full size
export XDG_CONFIG_HOME=$work/no-settings XDG_STATE_HOME=$work/state

# True for a process that the test has started and not yet waited for. Afterwards another process may have its number.
is_child() { [ "$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f2)" = $$ ]; }
cleanup() {
    local status=$? pid at
    for at in "${mounted[@]}"; do umount "$at" 2>/dev/null || umount -l "$at" 2>/dev/null || true; done
    for pid in "${receivers[@]}"; do
        is_child "$pid" || continue
        kill -CONT "$pid" 2>/dev/null || true
        kill -KILL "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true  # also keeps bash from reporting the kill
    done
    if [ "$status" -ne 0 ] && [ "$status" -ne 77 ]; then
        echo "--- test ended with $status; what the tools said:"
        local log
        for log in "$work"/*.log "$work"/*.err; do
            [ ! -f "$log" ] || { echo "--- ${log##*/}"; tail -n 30 "$log"; }
        done
    fi
    local mount
    for mount in $(awk -v work="$work/" 'index($2, work) == 1 { print $2 }' /proc/mounts 2>/dev/null || true); do
        umount "$mount" 2>/dev/null || umount -l "$mount" 2>/dev/null || fusermount -uz "$mount" 2>/dev/null || true
    done
    chmod -R u+rwx "$work" 2>/dev/null || true
    rm -rf "$work"
    exit "$status"
}
trap cleanup EXIT

fail() {
    echo "FAILED: $*"
    exit 1
}
skip() {
    echo "skipped: $*"
    exit 77
}
# fault_case F53 BOUND FIGURE: a case of the fault matrix ran and kept the bound (see
# tests/support/test/fault_case.hpp).
fault_case() { echo "FAULT $1 | $2 | $3"; }

# True if the tools have a sanitizer, and so need more memory and time. ./dev sets the sanitizers' options for all
# builds.
sanitized() { grep -qaE '__(asan|tsan)_init' "$bin/udtx-send"; }

need_strace() {
    command -v strace >/dev/null || skip "no strace"
    strace -qq -o /dev/null true 2>/dev/null || skip "strace may trace nothing here"
    # The leak check uses ptrace too, and a process can have only one tracer.
    export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
}
# has_fuse: sets $python. Returns false, with the reason in $no_fuse, if the tests' file systems cannot be mounted.
has_fuse() {
    no_fuse="no /dev/fuse that can be used here"
    [ -w /dev/fuse ] || return 1
    no_fuse="no python3-fusepy here"
    for python in /usr/bin/python3 python3; do
        ! "$python" -c 'import fusepy' 2>/dev/null && ! "$python" -c 'import fuse; fuse.Operations' 2>/dev/null || return 0
    done
    return 1
}
# mount_fuse AT PROGRAM ARGS...: mounts a file system of the tests with PROGRAM ARGS... AT; unmounted at the end. Sets
# $no_fuse.
mount_fuse() {
    local at=$1 program=$2 _
    shift 2
    mkdir -p "$at"
    ! mountpoint -q "$at" || fail "something is mounted at $at already"
    "$python" -B "$(dirname "${BASH_SOURCE[0]}")/$program" "$@" "$at" >"$at.fs.log" 2>&1 &
    receivers+=("$!")
    for _ in $(seq 500); do
        if mountpoint -q "$at"; then
            mounted+=("$at")
            return 0
        fi
        kill -0 "${receivers[-1]}" 2>/dev/null || break
        sleep 0.02
    done
    no_fuse="FUSE cannot be mounted here: $(tail -n 1 "$at.fs.log")"
    return 1
}

# recv_meets CALLS ERROR: from now on these system calls fail with ERROR in receivers. With -D the process is the
# receiver itself.
recv_meets() {
    printf '#!/bin/sh\nexec strace -D -f -qq -o /dev/null -e "trace=%s" -e "inject=%s:error=%s" "%s" "$@"\n' \
        "$1" "$1" "$2" "$bin/udtx-recv" >"$work/recv"
    chmod +x "$work/recv"
    recv=$work/recv
}

make_key() { "$send" keygen "$work/psk" 2>/dev/null; }

# takes_int COMMAND... &: a shell starts background jobs with INT ignored, and the tools leave it ignored. Only a job that
# starts with this function takes INT.
takes_int() {
    trap - INT
    exec "$@"
}

# start_recv NAME ARGS...: sets $port and $receiver; standard error is in NAME.log, standard output in NAME.out.
start_recv() {
    local name=$1 listen=127.0.0.1:0 _
    shift
    : >"$work/$name.log"
    takes_int "$recv" --listen "$listen" "$@" >"$work/$name.out" 2>"$work/$name.log" &
    receiver=$!
    receivers+=("$receiver")
    for _ in $(seq 1200); do
        port=$(sed -nE 's/^udtx-recv: listening on .*:([0-9]+)\/udp.*/\1/p' "$work/$name.log" | head -n 1)
        [ -z "$port" ] || return 0
        kill -0 "$receiver" 2>/dev/null || break
        sleep 0.05
    done
    fail "the receiver $name does not listen"
}

# expect CODE COMMAND...: checks the exit code; standard error is in last.err, standard output in last.out.
expect() {
    local wanted=$1 got=0
    shift
    timeout -k 5 240 "$@" >"$work/last.out" 2>"$work/last.err" || got=$?
    [ "$got" -eq "$wanted" ] || fail "exit code $got instead of $wanted: $*"
    [[ " keygen plan verify receipt clean doctor ctl " != *" ${2:-} "* ]] || lists_code "$got" "$1" "$2"
}
# lists_code CODE TOOL COMMAND: --help and the manual page of a subcommand list the exit code that it ended with.
lists_code() {
    [[ ${2##*/} =~ ^udtx-(send|recv)$ ]] || return 0
    "$2" "$3" --help | sed -n '/^Exit codes:/,$p' | grep -qE "(^|[ :])$1 " || fail "the manual of $3 does not list exit code $1"
}

# wait_for CODE PID: a background process must end with CODE. The limit is for hangs only, as a busy machine is slow.
wait_for() {
    local wanted=$1 pid=$2 got=0 _
    for _ in $(seq 2400); do
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.05
    done
    kill -0 "$pid" 2>/dev/null && fail "process $pid does not end"
    wait "$pid" || got=$?
    [[ "$got" =~ ^($wanted)$ ]] || fail "process ended with $got instead of $wanted"
}

said() { grep -qE -- "$1" "$work/last.err" || fail "no line matches '$1'"; }

# until_true SECONDS COMMAND...: repeats COMMAND until it succeeds, at most for this time
until_true() {
    local tries=$(($1 * 20)) _
    shift
    for _ in $(seq "$tries"); do
        ! "$@" || return 0
        sleep 0.05
    done
    fail "never became true: $*"
}
now() { date +%s%N; }
# true_since NANOSECONDS MOST WHAT COMMAND...: waits until the command is true, at most MOST milliseconds after then.
true_since() {
    local since=$1 most=$2 what=$3 took
    shift 3
    until_true 60 "$@"
    took=$((($(now) - since) / 1000000))
    echo "$what after $took ms"
    [ "$took" -le "$most" ] || fail "$what only after $took ms"
}

never_said() { ! grep -qE -- "$1" "$work/last.err" || fail "a line matches '$1'"; }

# proven DIRECTORY [COUNT]: true if there are at least COUNT journals and each has some pieces. A piece takes about
# forty bytes, the journal's head less.
proven() {
    [ "$(find "$1" -name '.udtx-*.journal' 2>/dev/null | wc -l)" -ge "${2:-1}" ] &&
        [ -z "$(find "$1" -name '.udtx-*.journal' -size -160c 2>/dev/null)" ]
}

# check_metrics FILE: checks the rules of promtool; uses promtool itself where it is installed.
check_metrics() {
    if command -v python3 >/dev/null; then
        PYTHONDONTWRITEBYTECODE=1 python3 "$(dirname "$0")/metrics_lint.py" "$1" || fail "the metrics are not clean"
    fi
    ! command -v promtool >/dev/null || promtool check metrics <"$1" || fail "promtool is not content with the metrics"
}

json_field() { "$checker" "$1" "$2"; }

# Prints names, types, modes, sizes, link targets and, for files and directories, whole-second times.
listing() { (cd "$1" && find . -mindepth 1 -printf '%P\t%y\t%m\t%l\t%T@\n' |
    awk -F'\t' 'BEGIN { OFS = "\t" } { split($5, t, "."); print $1, $2, ($2 == "l" ? "" : $3 OFS t[1]), $4 }' | LC_ALL=C sort); }
