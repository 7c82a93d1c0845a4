# Settings from the environment and from files, in real runs; manual pages and completion from the same definitions.
. "$(dirname "$0")/lib.sh"
unset XDG_CONFIG_HOME
make_key
export HOME=$work/home
mkdir -p "$work/dst" "$HOME/.config/udtx"
head -c 200000 /dev/urandom >"$work/file"
config=$HOME/.config/udtx/config
start_recv recv --psk-file "$work/psk" --dir "$work/dst"
cat >"$config" <<EOF
psk-file $work/psk
authorized-keys /of/the/other/tool
Host store
    HostName 127.0.0.1
    Port $port
    rate 50M
EOF

expect 0 "$send" -v "$work/file" udtx://store/a/
cmp "$work/file" "$work/dst/a/file"
said "rate cap: 50"
expect 0 "$send" -v "$work/file" --rate 60M udtx://store/b/
said "rate cap: 60"
UDTX_RATE=70M expect 0 "$send" -v "$work/file" udtx://store/c/
said "rate cap: 70"
expect 1 "$send" --config none "$work/file" "udtx://127.0.0.1:$port/"
said "no key given"
expect 1 "$send" --config "$work/nowhere" "$work/file" udtx://store/
said "nowhere does not exist"

# The order of lines decides among patterns, and each value has a line of its own.
cat >"$work/patterns" <<EOF
psk-file $work/psk
include keep.o
exclude *.o
exclude " odd "
EOF
mkdir "$work/objects"
touch "$work/objects/keep.o" "$work/objects/other.o"
expect 0 "$send" --config "$work/patterns" "$work/objects/" "udtx://127.0.0.1:$port/objects"
[ "$(ls "$work/dst/objects")" = keep.o ] || fail "the order of patterns in a file: $(ls "$work/dst/objects")"
expect 0 "$send" --config "$work/patterns" --show-config x udtx://store/
for line in "^include +keep.o +# $work/patterns:2" "^exclude +\\*.o +# $work/patterns:3" "^exclude +\" odd \" +# $work/patterns:4"; do
    grep -qE "$line" "$work/last.out" || fail "--show-config has no line '$line': $(cat "$work/last.out")"
done
# A flag overrides another spelling of the same setting in the file.
printf 'psk-file %s\nrate 2G\nlinks yes\n' "$work/psk" >"$work/words"
expect 0 "$send" -v --config "$work/words" --bwlimit 5000 --no-links "$work/file" "udtx://127.0.0.1:$port/words"
said "rate cap: 4"
# A cap by the schedule applies even if it is below the floor.
expect 0 "$send" -v --config "$work/patterns" --min-rate 60M --schedule 00:00,50M "$work/file" "udtx://127.0.0.1:$port/floor"
said "rate cap: 50"

UDTX_CC=udt expect 0 "$send" --show-config -p x udtx://store/
for line in "^hostname +127.0.0.1 +# $config:" "^port +$port +# $config:5" "^rate +50M +# $config:6" '^cc +udt +# UDTX_CC' '^preserve +yes +# command line' \
    '^mtu +auto +# default' '^links +yes +# default' '^# overwrite +diff +# default' '^# max-memory +[0-9]+ +# default' '^# timeout +600 +# default'; do
    grep -qE "$line" "$work/last.out" || fail "--show-config has no line '$line'"
done
sed 's/ *#.*//' "$work/last.out" >"$work/shown"
expect 0 "$send" --config "$work/shown" --show-config -p x udtx://store/
grep -qE "^rate +50M +# $work/shown:" "$work/last.out" || fail "what --show-config gave is no file of settings"
expect 0 "$send" -a --no-links -q --show-config x udtx://store/
sed 's/ *#.*//' "$work/last.out" >"$work/shown"
expect 0 "$send" --config "$work/shown" --show-config x udtx://store/
for line in 'links +no' 'no-links +yes' 'quiet +yes' 'owner +yes' 'preserve +yes'; do
    grep -qE "^$line +#" "$work/last.out" || fail "a run with the settings of --show-config has no line '$line'"
done
expect 0 "$recv" --listen :7011 --show-config
grep -qE '^# overwrite +always +# default' "$work/last.out" || fail "--show-config of a server: $(grep overwrite "$work/last.out")"
expect 0 "$recv" --show-config
grep -qE '^authorized-keys +/of/the/other/tool' "$work/last.out" || fail "udtx-recv --show-config"

UDTX_RATE=fast expect 1 "$send" "$work/file" udtx://store/
said "rate 'fast'.*set by UDTX_RATE"
echo "rat 5M" >>"$config"
expect 1 "$send" "$work/file" udtx://store/
said "config:7: unknown setting 'rat'; did you mean rate"
UDTX_CONFIG=none expect 1 "$send" "$work/file" "udtx://127.0.0.1:$port/"
said "no key given"
UDTX_CONFIG=$work/patterns expect 0 "$send" "$work/file" "udtx://127.0.0.1:$port/by-variable"
UDTX_CONFIG=$work/nowhere expect 1 "$send" "$work/file" udtx://store/
said "nowhere does not exist \(set by UDTX_CONFIG\)"
chmod g+w "$config"
expect 1 "$send" "$work/file" udtx://store/
said "chmod go-w"

# manual TOOL WHAT LOOKED_FOR: the page has every section, and man accepts it.
manual() {
    expect 0 "$1" --generate "$2"
    for section in NAME SYNOPSIS DESCRIPTION OPTIONS EXAMPLES "EXIT STATUS" ENVIRONMENT FILES "SEE ALSO"; do
        grep -qx "\.SH $section" "$work/last.out" || fail "$2 has no $section"
    done
    grep -qE '^\.TH UDTX-[A-Z-]+ 1 "" "udtx [0-9.]+' "$work/last.out" || fail "$2 does not name the version: $(head -n 1 "$work/last.out")"
    command -v man >/dev/null || return 0
    cp "$work/last.out" "$work/page.1"
    MANWIDTH=100 LC_ALL=C.UTF-8 man -l "$work/page.1" >"$work/man.out" 2>"$work/man.err" || fail "man -l ended with $?"
    grep -q -e "$3" "$work/man.out" || fail "man -l: $2 does not show $3"
    [ ! -s "$work/man.err" ] || fail "man complains of $2: $(head -n 1 "$work/man.err")"
}
for command in keygen plan doctor ctl; do manual "$send" "man-$command" "udtx-send $command"; done
for command in verify receipt clean doctor ctl; do manual "$recv" "man-$command" "udtx-recv $command"; done
# The manual describes each field of the final object; even the object of an error has all fields.
[ "$("$send" --json --rat 5M x host: 2>/dev/null | tee "$work/object" | wc -c)" -gt 100 ] || fail "no object"
"$send" --generate man | sed 's/\\\\-/-/g' >"$work/page.1"
grep -oE '"[a-z_]+":' "$work/object" | tr -d '":' | sort -u | while read -r field; do
    grep -qw -- "$field" "$work/page.1" || fail "the manual lacks the field $field"
done
for tool in "$send" "$recv"; do
    manual "$tool" man '--psk-file'
    expect 0 "$tool" --generate complete-bash
    bash -n "$work/last.out" || fail "bash completion does not parse"
    offered=$(bash -c '. "$1"; COMP_WORDS=("$2" --psk-f); COMP_CWORD=1; "_${2//-/_}" && echo "${COMPREPLY[@]}"' \
        - "$work/last.out" "$(basename "$tool")")
    [ "$offered" = --psk-file ] || fail "bash completion offers '$offered'"
    for words in '--overwrite ""' '--overwrite =' '--overwrite = ""'; do
        offered=$(bash -c '. "$1"; eval "COMP_WORDS=(x $3)"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); "_${2//-/_}"; echo "${COMPREPLY[@]}"' \
            - "$work/last.out" "$(basename "$tool")" "$words")
        [ "$offered" = "never diff always" ] || fail "after $words bash completion offers '$offered'"
    done
    # offers WORDS WANTED: completes the last of the words.
    offers() {
        offered=$(cd "$work" && bash -c '. "$1"; compopt() { :; }; eval "COMP_WORDS=(x $3)"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); "_${2//-/_}"; echo "${COMPREPLY[@]}"' \
            - "$work/last.out" "$(basename "$tool")" "$1")
        [ "$offered" = "$2" ] || fail "after '$1' bash completion offers '$offered'"
    }
    offers 'doct' doctor
    offers 'ct' ctl
    offers 'doctor --di' --dir
    offers 'doctor --overw' ''
    offers 'x doct' ''
    if [ "$tool" = "$send" ]; then
        offers 'keyg' keygen
        offers 'ctl --js' --json
        offers 'keygen --id' --identity
        offers 'doctor host --remote' --remote-bin
        offers 'doctor --ssh-port ""' ''
    else
        offers 'veri' verify
        offers 'verify --js' --json
    fi
    expect 0 "$tool" --generate complete-zsh
    grep -q "^        doctor)" "$work/last.out" || fail "zsh completion knows no doctor"
    ! command -v zsh >/dev/null || zsh -n "$work/last.out" || fail "zsh completion does not parse"
    expect 0 "$tool" --generate complete-fish
    grep -q -- "-n __fish_use_subcommand -a doctor " "$work/last.out" || fail "fish completion knows no doctor"
    ! command -v fish >/dev/null || fish -n "$work/last.out" || fail "fish completion does not parse"
    expect 1 "$tool" --generate pdf
    said "complete-bash"
done

# HOME may belong to another user: their settings are not read, with a warning. A file that was named must be readable.
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
    other=(setpriv --reuid 54321 --regid 54321 --clear-groups env "HOME=$HOME")
    chmod 711 "$work"
    "${other[@]}" "$send" --version >/dev/null 2>&1 || skip "another user cannot run the tools here"
    mkdir -m 755 "$work/theirs"
    install -m 644 "$work/file" "$work/theirs/file"
    install -m 600 -o 54321 "$work/psk" "$work/their-key"
    for barred in 700 711; do
        chmod "$barred" "$HOME"
        chmod 755 "$HOME/.config" "$HOME/.config/udtx"
        chmod 600 "$config"
        expect 0 "${other[@]}" "$send" --psk-file "$work/their-key" "$work/theirs/file" "udtx://127.0.0.1:$port/other$barred"
        said "^udtx-send: settings: cannot read '$config': Permission denied; 'UDTX_CONFIG=none' reads no file$"
    done
    expect 0 "${other[@]}" UDTX_CONFIG=none "$send" --psk-file "$work/their-key" "$work/theirs/file" "udtx://127.0.0.1:$port/none"
    never_said "settings"
    expect 1 "${other[@]}" "$send" --config "$config" --psk-file "$work/their-key" "$work/theirs/file" "udtx://127.0.0.1:$port/named"
    said "Permission denied"
    chown 54322 "$config"
    chmod 644 "$config"
    expect 0 "${other[@]}" "$send" --psk-file "$work/their-key" "$work/theirs/file" "udtx://127.0.0.1:$port/foreign"
    said "settings: $config belongs to another user and is not read"
    chown 0 "$config"
fi
