# Checks how the tools were built: position independent, full RELRO, a stack that is not executable, fortified calls and
# frames.
# hardened.sh TOOLS
set -euo pipefail
command -v readelf >/dev/null || { echo "skipped: no readelf"; exit 77; }
fail() { echo "FAILED: $tool $*"; exit 1; }
for tool in "$1/udtx-send" "$1/udtx-recv"; do
    readelf -hW "$tool" | grep -qE 'Type: +DYN' || fail "is at the same place each time (no PIE)"
    readelf -dW "$tool" | grep -qE 'BIND_NOW|FLAGS_1.*NOW' || fail "binds late: its table of functions can be written"
    segments=$(readelf -lW "$tool")
    grep -q GNU_RELRO <<<"$segments" || fail "has no GNU_RELRO"
    stack=$(grep GNU_STACK <<<"$segments") || fail "says nothing of its stack"
    [[ $stack != *RWE* ]] || fail "has a stack that runs"
    symbols=$(readelf --dyn-syms -W "$tool")
    grep -q '__[a-z]*_chk@' <<<"$symbols" || fail "has no checked calls (_FORTIFY_SOURCE)"
    grep -q '__stack_chk_fail' <<<"$symbols" || fail "has no guarded frames"
done
