# Starts a far end as the program does that calls ssh, and then passes on the datagrams of standard input and output.
# The key has 32 bytes of 1. near_end.sh UDTX_RECV DIR LOG: LOG gets what the far end says, and its exit code.
set -euo pipefail
coproc FAR { exec "$1" --bootstrap 2>>"$3"; }
exec 5<&"${FAR[0]}" 6>&"${FAR[1]}" {FAR[0]}<&- {FAR[1]}>&-
far=$FAR_PID
IFS= read -r greeting <&5
printf '%s\n' "$greeting" "key $(printf '01%.0s' {1..32})" "transfer 0" "shape contents" "destination $2" "channel 1" end >&6
while IFS= read -r line <&5 && [ "$line" != udtx-channel ]; do :; done
cat <&5 6>&- 2>/dev/null &
cat >&6 2>/dev/null || true
exec 5<&- 6>&-
code=0
wait "$far" || code=$?
echo "code $code" >>"$3"
