# What README.md and docs/ tell people to type works when it is typed: every command of the tools is taken from there and
# run, to a server and over ssh (examples.py). What cannot run has its reason in the list there.
. "$(dirname "$0")/lib.sh"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null || skip "needs python3, 3.8 or newer"
root=$(cd "$(dirname "$0")/../.." && pwd)
export PYTHONDONTWRITEBYTECODE=1
examples() { python3 "$(dirname "$0")/examples.py" "$root" "$bin" "$work/examples-$1" "${@:2}" || fail "$1: an example does not work"; }
examples server
. "$(dirname "$0")/ssh_lib.sh"
start_sshd
# Over there it is another home directory, and the name in the examples is that of nobody here.
mkdir "$work/far-home"
for tool in send recv; do
    far_program "udtx-$tool" "cd '$work/far-home' && export HOME='$work/far-home' && exec '${!tool}' \"\$@\""
done
sed 's/^Host far$/Host host far/' "$ssh_config" >"$work/ssh-config"
examples ssh --ssh-config "$work/ssh-config" --far-home "$work/far-home" --far-programs "$work"
