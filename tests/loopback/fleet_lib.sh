# A tree, a plan for eight shards and a server, for the engines of packaging/fleet. Sourced after lib.sh.
make_key
src=$work/tree
mkdir -p "$work/dst" "$src/small" "$src/large"
for i in $(seq 400); do head -c $((i * 131 % 20000)) /dev/urandom >"$src/small/$i"; done
# The journal entries of these files are soon longer than the journal's head (proven).
for i in $(seq 80); do head -c 500000 /dev/urandom >"$src/large/$i"; done
expect 0 "$send" plan -N 8 "$src"
plan=$work/plan
cp "$work/last.out" "$plan"
start_recv r --dir "$work/dst" --psk-file "$work/psk"
engines=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../packaging/fleet" && pwd)
export PATH=$bin:$PATH
all_came() {
    diff -r "$src" "$work/dst/tree" || fail "the tree differs"
    local left
    left=$(find "$work/dst" -name '.udtx-*')
    [ -z "$left" ] || fail "left behind: $left"
}
