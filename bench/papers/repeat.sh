# To be sourced. repeats PROGRAM "KIND..." OPTION... checks that the same seed gives the same files of these kinds, that
# another seed gives other samples, and that all bytes arrive intact. The results of seed 7 are $work/a.KIND.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

repeats() {
    local program=$1 kinds=$2 kind
    shift 2
    "$program" "$@" --seed 7 --out "$work/a" >"$work/a.json"
    "$program" "$@" --seed 7 --out "$work/b" >"$work/b.json"
    "$program" "$@" --seed 8 --out "$work/c" >"$work/c.json"
    for kind in $kinds; do
        cmp "$work/a.$kind" "$work/b.$kind" || { echo "seed 7 gave two results"; exit 1; }
    done
    if cmp -s "$work/a.samples.csv" "$work/c.samples.csv"; then
        echo "seeds 7 and 8 gave the same result"
        exit 1
    fi
    grep -q '"intact":true' "$work/a.json" || { echo "bytes arrived damaged"; exit 1; }
}
