# Every command of the tools in README.md and docs/ works as written. examples.py takes the commands from there and runs
# them, to a server and over ssh. Its list gives the reason for each command that cannot run.
. "$(dirname "$0")/lib.sh"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null || skip "needs python3, 3.8 or newer"
root=$(cd "$(dirname "$0")/../.." && pwd)
export PYTHONDONTWRITEBYTECODE=1
examples() { python3 "$(dirname "$0")/examples.py" "$root" "$bin" "$work/examples-$1" "${@:2}" || fail "$1: an example does not work"; }
examples server
. "$(dirname "$0")/ssh_lib.sh"
start_sshd
# The far end has another home directory, and the login name in the examples does not exist here.
mkdir "$work/far-home"
for tool in send recv; do
    far_program "udtx-$tool" "cd '$work/far-home' && export HOME='$work/far-home' && exec '${!tool}' \"\$@\""
done
sed 's/^Host far$/Host host far/' "$ssh_config" >"$work/ssh-config"
examples ssh --ssh-config "$work/ssh-config" --far-home "$work/far-home" --far-programs "$work"
