# Every option of both tools has a row here: a test that uses it and checks its effect, and wrong values that are
# refused with a line that names the option. This test fails for an option without a row, and for a row without an
# option.
. "$(dirname "$0")/lib.sh"
make_key
here=$(dirname "$0")
mkdir "$work/dst"
echo x >"$work/file"

# option | the test that uses it, or "here" | wrong values, separated by commas. Each is refused with code 1 (with 11
# for a file that cannot be read or written). "-" means no wrong values: the option takes no value, or any word. For
# each option with a value, a missing value is refused.
rows='
help            | usage     | -
help-all        | usage     | -
version         | usage     | -
psk-file        | keys      | 11 no/file
identity        | keys      | -
pin             | keys      | -
authorized-keys | keys      | -
rate            | rate      | fast, 10MB/s, -5
bwlimit         | observing | fast
schedule        | observing | 25:00%5M, 08:00
host-rate       | observing | fast
timeout         | unreachable | soon, 0
cc              | rate      | cubik
mtu             | here      | 900, 70000
threads         | packet_threads | 0, 17, two
ipv4            | here      | -
ipv6            | interfaces | -
policy          | rate      | greedy
min-rate        | here      | slow
probe-only      | observing | -
no-resume       | resume    | -
receipt         | receipt   | 11 no/dir/x
preserve        | tree      | -
recursive       | selection | -
archive         | mirror    | -
dry-run         | kinds     | -
exclude         | selection | /
include         | selection | /
exclude-from    | here      | no/file
files-from      | selection | no/file
from0           | selection | -
links           | here      | -
safe-links      | selection | -
no-links        | here      | -
hard-links      | kinds     | -
xattrs          | here      | -
owner           | here      | -
set-id          | special_bits | -
sparse          | mirror    | -
by-hash         | selection | -
overwrite       | selection | often
delete          | mirror    | -
allow-delete    | mirror    | -
allow-set-id    | special_bits | -
allow-read      | server_pull | -
shard           | shards    | 3, 8/8, x/8
plan            | shards    | no/file
job             | shards    | x
job-rate        | shards_job | 0, x
servers         | shards_job | a b/
checksum        | receipt   | md5
verbose         | observing | -
quiet           | progress  | -
json            | json      | -
json-stream     | observing | -
stats           | observing | -
metrics         | observing | nowhere
log-format      | server    | xml
http            | page      | nowhere
report          | page      | 11 no/dir/x
progress        | progress  | -
log             | progress  | 11 no/dir/x
ssh-port        | ssh       | many, 0
ssh-identity    | ssh       | -
ssh             | ssh       | it"s
remote-bin      | ssh       | -
udp-port        | ssh       | x, 5-4
path            | paths     | nowhere
multipath       | paths     | some
scheduler       | paths     | best
reinject        | here      | maybe
coupling        | here      | tight
config          | settings  | no/file
show-config     | settings  | -
generate        | settings  | pdf
listen          | server    | nowhere, fd:x
dir             | tree      | 11 no/dir
max-rate        | server    | fast
min-free        | full_disk | lots
max-memory      | here      | lots, 5G
protocol-threads | incast   | 0, 17, two
drain           | restart   | soon, 0
log-files       | server    | -
one-off         | tree      | -
relay           | code      | -
code            | code      | -
rendezvous      | code      | a:b:c, :7012, host:0
linger          | ../network/linger | soon, -1
transport       | ../network/ways | quick
proxy           | proxy     | nowhere, ftp://127.0.0.1:1
tcp-listen      | ../network/ways | -
relay-rate      | ../network/nats | fast
relay-sessions  | code      | 0, x
relay-time      | code      | soon, 0
sandbox         | ../guard/sandbox | maybe
'
short() { grep -oE -- "^ +-.,--$1( |\$)" "$work/$2.help" | grep -oE -- '-[a-zA-Z0-9]' | head -n 1; }

# refused CODE OPTION TOOL ARGS...: refused with a line that names the option.
refused() {
    local code=$1 option=$2 tool=$3
    shift 3
    case $option in
        ssh* | remote-bin | udp-port)
            if [ "$tool" = send ]; then set -- "$work/file" host:dir "$@"; else set -- host:dir "$work/dst" "$@"; fi ;;
        *)
            [ "$option" = psk-file ] || set -- --psk-file "$work/psk" "$@"
            if [ "$tool" = send ]; then
                [ "$option" = receipt ] || set -- --timeout 1 "$@"
                set -- "$work/file" udtx://127.0.0.1:9/ "$@"
            else
                set -- --one-off --listen 127.0.0.1:0 --dir "$work/dst" "$@"
            fi ;;
    esac
    expect "$code" "$bin/udtx-$tool" "$@"
    said "--$option"
}

for tool in send recv; do
    "$bin/udtx-$tool" --help-all >"$work/$tool.help"
    grep -oE '^ +(-.,)?--[a-z0-9-]+' "$work/$tool.help" | sed 's/.*--//' | sort >"$work/$tool.options"
done
while IFS='|' read -r option where wrong; do
    option=${option// /} where=${where// /} wrong=${wrong# }
    [ -n "$option" ] || continue
    echo "$option" >>"$work/rows"
    if [ "$where" != here ]; then
        letters=$(short "$option" send || true)$(short "$option" recv || true)
        uses="--$option([ =\"]|\$)${letters:+|[ (]-[a-zA-Z]*[${letters//-/}]}"
        grep -qE -- "$uses" "$here/$where.sh" || fail "$where.sh does not use --$option"
    fi
    missing=yes  # a missing value is tried with one tool only, as both parse alike
    for tool in send recv; do
        grep -qx -- "$option" "$work/$tool.options" || continue
        if [ "$missing" = yes ] && grep -qE -- "^ +(-.,)?--$option [^ ]" "$work/$tool.help"; then
            refused 1 "$option" "$tool" "--$option"
            missing=tried
        fi
        [ "$wrong" != - ] || continue
        while read -r value; do
            code=1
            case $value in '11 '*) code=11 value=$work/${value#11 } ;; esac
            refused "$code" "$option" "$tool" "--$option=${value//%/,}"
        done < <(tr ',' '\n' <<<"$wrong")
    done
done <<<"$rows"
sort "$work/send.options" "$work/recv.options" | uniq >"$work/options"
sort "$work/rows" | diff - "$work/options" || fail "options and rows differ: give each new option a row"

# --- rows that say "here"
start_recv r --dir "$work/dst" --psk-file "$work/psk"
src=$work/src
mkdir "$src"
echo keep >"$src/keep"
echo drop >"$src/drop"
ln -s keep "$src/link"
to=udtx://127.0.0.1:$port
copy() { expect 0 "$send" --json --psk-file "$work/psk" "$@"; }
names() { (cd "$work/dst/$1" && find . -mindepth 1 -printf '%P\n' | LC_ALL=C sort | tr '\n' ' '); }
field_is() { [ "$(json_field "$work/last.out" "$1")" = "$2" ] || fail "$1 is $(json_field "$work/last.out" "$1")"; }

printf '# a comment\ndrop\n' >"$work/patterns"
copy --exclude-from "$work/patterns" --links "$src/" "$to/a"
[ "$(names a)" = "keep link " ] || fail "--exclude-from or --links: $(names a)"
copy --no-links "$src/" "$to/b"
[ "$(names b)" = "drop keep " ] || fail "--no-links: $(names b)"
copy --mtu 1300 --max-memory 64M --coupling none --reinject off -4 "$src/" "$to/c"
[ "$(json_field "$work/last.out" datagram_bytes)" -le 1272 ] || fail "--mtu 1300: $(json_field "$work/last.out" datagram_bytes)"
expect 10 "$send" -6 --psk-file "$work/psk" "$src/" "$to/d"
said "with -6"
expect 10 "$send" -4 --psk-file "$work/psk" "$src/" "udtx://[::1]:$port/d"
said "with -4"
# The effect of these on a link is tested in virtual time, in tests/scenario (policy, coupling, multipath).
copy --min-rate 40M --rate 40M "$src/" "$to/e"
field_is files 2
if setfattr -n user.name -v value "$src/keep" 2>/dev/null && setfattr -n user.test "$work/dst" 2>/dev/null; then
    copy "$src/" "$to/f"
    ! getfattr -n user.name "$work/dst/f/keep" >/dev/null 2>&1 || fail "an attribute came without -X"
    copy -X "$src/" "$to/f"
    getfattr -n user.name "$work/dst/f/keep" >/dev/null 2>&1 || fail "-X"
fi
if [ "$(id -u)" -eq 0 ] && chown 1234:2345 "$src/keep" 2>/dev/null; then
    copy "$src/" "$to/g"
    [ "$(stat -c %u "$work/dst/g/keep")" = 0 ] || fail "an owner came without --owner"
    copy --owner "$src/" "$to/g"
    [ "$(stat -c %u:%g "$work/dst/g/keep")" = 1234:2345 ] || fail "--owner"
fi
