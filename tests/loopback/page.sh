# The live page in a headless browser: the figures change during a transfer, and the report shows the same figures
# afterwards.
. "$(dirname "$0")/lib.sh"
browser=$(dirname "$0")/browser.py
command -v python3 >/dev/null || skip "no python3"
"$send" --http :0 /dev/null udtx://127.0.0.1:1/ 2>&1 | grep -q "built without the page" && skip "built without Chart.js"
command -v chromium chromium-browser google-chrome chrome-headless-shell >/dev/null || skip "no chromium"
make_key
export XDG_RUNTIME_DIR=$work
mkdir "$work/dst" "$work/src"
# A name that would do harm if it became markup.
head -c 60000000 /dev/zero >"$work/src/<!-- <script>window.taken=1<img src=x onerror=window.taken=1>"
: >"$work/send.log"
start_recv r --one-off --dir "$work/dst" --psk-file "$work/psk"
"$send" --http 127.0.0.1:0 --report "$work/report.html" --rate 2M --psk-file "$work/psk" "$work/src" \
    "udtx://127.0.0.1:$port/" 2>"$work/send.log" &
sender=$!
receivers+=("$sender")
page_url() { url=$(sed -n 's@.*page on \(http://[0-9.:]*/\)$@\1@p' "$work/send.log"); [ -n "$url" ]; }
until_true 60 page_url
got=0
python3 "$browser" live "$url" "$send" ctl "$sender" rate 1G || got=$?
[ "$got" -ne 77 ] || skip "the browser does not start"
[ "$got" -eq 0 ] || fail "the live page"
wait_for 0 "$sender"
wait_for 0 "$receiver"
python3 "$browser" report "$work/report.html" || fail "the report"
! grep -q '<script>window.taken' "$work/report.html" || fail "a name is in the report as it is"
