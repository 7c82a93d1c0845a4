#!/usr/bin/env bash
# tools_use_public_headers.sh <source root>: checks that the tools and the examples include only installed headers of
# the library, as every other program does. The tools may also include their own headers. The check reads every file,
# whatever its name, as any file can be included. Prints file:line of each breach. Exits with 1 if there is one.
set -uo pipefail
cd "$1" || exit 2

public() { [[ $1 == udtx/* && -f libudtx/include/$1 ]]; }
own() { [[ $1 == apps/* && -f apps/$2 ]]; }  # own <file> <header>

directive='^[[:space:]]*#[[:space:]]*(include|include_next|import)[[:space:]]*'
includes=$directive'(["<])([^">]+)[">]'
count=0
breaches=0
while IFS= read -r line; do
    file=${line%%:*}
    count=$((count + 1))
    kind='' header=''
    if [[ ${line#*:*:} =~ $includes ]]; then kind=${BASH_REMATCH[2]} header=${BASH_REMATCH[3]}; fi
    if [[ $kind && $header != *..* && $header != /* ]]; then
        public "$header" && continue
        [[ $kind == '"' ]] && own "$file" "$header" && continue
        [[ $kind == '<' && $header != udtx/* && ! -f libudtx/src/$header ]] && continue
    fi
    echo "$line    [neither a public header nor one of the tools']"
    breaches=$((breaches + 1))
done < <(grep -RnE --binary-files=text "$directive"'["<A-Z_]' apps examples)
if [ "$count" -eq 0 ]; then
    echo "nothing below $1 includes anything" >&2
    exit 2
fi
echo "$count includes, $breaches breaches"
[ "$breaches" -eq 0 ]
