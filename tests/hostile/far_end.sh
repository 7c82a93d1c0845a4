# A stand-in for ssh whose far end lies. It answers the bootstrap (apps/ssh/bootstrap.hpp) and then lets the liar speak.
# far_end.sh LIAR DIR WORDS...: DIR has the number of the lie.
set -euo pipefail
umask 077
liar=$1 dir=$2
IFS= read -r greeting
printf '%s\n' "$greeting"
while IFS= read -r line && [ "$line" != end ]; do
    case $line in "key "*) key=$(sed 's/../\\x&/g' <<<"${line#key }") ;; esac
done
# shellcheck disable=SC2059  # the bytes of the key
echo "udtx-psk-1 $(printf "$key" | base64 -w 0)" >"$dir/ssh.key"
printf '%s\n' "port 9" "address 127.0.0.1" "clock $(date +%s%N)" end end udtx-channel
HOSTILE_CARRIER=ssh exec "$liar" "$dir/ssh.key" "$(cat "$dir/number")"
