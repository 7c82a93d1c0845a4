#!/usr/bin/env python3
"""examples.py ROOT TOOLS WORK [--ssh-config FILE --far-home DIR --far-programs DIR]: runs the commands of udtx-send and
udtx-recv that README.md and docs/*.md of ROOT show, in code blocks and in `code`. With --ssh-config it runs those over
ssh, otherwise all others.

An example runs as written, except for names of hosts and ports. The test fails for an example that can neither run nor
is in the lists below. Write it so that it can be pasted, or add it with its reason."""
import argparse
import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

# Placeholders by example; they are replaced before the command runs.
STANDS_FOR = {
    "SRC...": "photos notes.txt", "SRC": "photos", "DEST": "arrived/", "[user@]": "", "user@": "", "host:DEST": "host:inbox/",
    "host:SRC...": "host:photos", "host/SRC...": "host/photos", "DIR": "../data",
}
# Text that is not a command: parts of commands, or output of a tool. The key is its start.
NO_COMMANDS = {
    "udtx-send: ": "what the tool prints",
    "udtx-recv: ": "what the tool prints",
    "udtx-recv on HOST is version": "what the tool prints",
    "udtx-send --json": "names a flag",
    "udtx-send --path": "needs several networks: loopback_interfaces, loopback_paths",
    "udtx-send ctl": "a running transfer is needed: loopback_observing",
    "udtx-recv ctl": "a running transfer is needed: loopback_observing",
    "udtx-send --bootstrap": "what ssh starts there",
    "udtx-recv --bootstrap": "what ssh starts there",
    "udtx-recv --overwrite MODE": "names a flag",
    "udtx-recv --allow-delete": "names a flag",
    "udtx-recv --repair-list": "names a flag",
    "udtx-recv --relay": "serves until a signal: loopback_code",
    "udtx-send --code": "waits for the other end: loopback_code",
    "udtx-send doctor [HOST]": "a synopsis: loopback_ssh_ends",
    "udtx-send doctor [user@]host": "examines this machine for seconds: loopback_ssh_ends",
    "udtx-send doctor": "examines this machine for seconds: loopback_ssh_ends",
    "udtx-recv doctor": "examines this machine for seconds: loopback_ssh_ends",
    "udtx-send --probe-only": "fills the line for seconds: loopback_observing",
    "udtx-recv verify": "needs a receipt: loopback_receipt",
    "udtx-recv receipt merge": "needs receipts: loopback_shards",
    "udtx-send -c -0 --files-from FILE": "goes on where verify --repair-list ended: loopback_receipt",
}
# Commands of other programs in README.md and docs/using, by their starts, and what runs them. Others need "# second host".
OTHER_PROGRAM = re.compile(r"(\./dev \w|bench/|scp |ssh |sbatch |srun |mpirun |cmake |sudo |systemctl |curl )")
RUN_ELSEWHERE = {
    "./dev demo": ".ci/run", "./dev test": ".ci/run", "./dev install": ".ci/run",
    "./dev bench": "a measurement; its figures stand beside it", "bench/loopback/many": "a measurement; its figures stand beside it",
    "sbatch --array=0-7 slurm-array.sh": "loopback_fleet_slurm", "cmake --install": "install",
    "ssh host 'udtx-recv --bootstrap'": "loopback_ssh", "ssh -G": "a part of loopback_ssh", "ssh could not": "a message",
    "ssh was refused": "a message", "systemctl reload udtx-recv": "sends the signal of loopback_reload", "ssh -L": "needs a second host", "sudo install": "needs a second host",
}
EXACTLY = {
    "udtx-recv --listen": "names a flag",
    "udtx-recv --relay": "runs until it is stopped: see code.sh",
    "udtx-send dir": "names a source",
    "udtx-recv --listen :0": "names a flag; the directory is missing",
}


def commands_in(path):
    """Yields (line, [commands]) for each block or each `code` that has a command of the tools."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    block = None
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            if block:
                yield block
            block = (number, []) if block is None else None
            inside = block is not None
            continue
        if block is not None and inside:
            command = re.sub(r"\s{2,}#.*$|\s+# .*$", "", line).strip()
            if re.match(r"(\S.*\| *)?udtx-(send|recv)( |$)", command):
                block[1].append(command)
            continue
        # Two backquotes would start and end at other places.
        for code in re.findall(r"`([^`]+)`", line):
            if re.match(r"([^|]*\| *)?udtx-(send|recv) +\S", code):
                yield number, [code]


def neither_run_nor_marked(path):
    """Yields (line, command) of other programs' commands."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    in_block = False
    for number, line in enumerate(lines, 1):
        in_block ^= line.startswith("```")
        for command in [line] if in_block else re.findall(r"`([^`]+)`", line):
            if OTHER_PROGRAM.match(command) and "# second host" not in command and not command.startswith(tuple(RUN_ELSEWHERE)):
                yield number, command


class Sandbox:
    def __init__(self, args):
        self.args, self.servers = args, []
        for directory in (args.work, args.far_home):
            shutil.rmtree(directory or args.work, ignore_errors=True)
        self.home = os.path.join(args.work, "home")
        self.data = os.path.join(args.work, "data")
        for directory in (self.home + "/photos/sub", self.home + "/dir", self.home + "/here", self.data + "/data/run7",
                          self.data + "/photos", self.data + "/alice"):
            os.makedirs(directory)
        texts = {self.home + "/photos/one.jpg": "one", self.home + "/photos/sub/two.jpg": "two" * 9000,
                 self.home + "/notes.txt": "notes", self.home + "/file": "file", self.home + "/dir/inner": "inner",
                 self.data + "/data/run7/result": "result", self.data + "/notes.txt": "notes", self.data + "/photos/far.jpg": "far"}
        if args.far_home:
            os.makedirs(args.far_home + "/inbox", exist_ok=True)
            os.makedirs(args.far_home + "/photos", exist_ok=True)
            texts[args.far_home + "/photos/far.jpg"] = "far"
            texts[args.far_home + "/a.dat"] = "a"
        for path, text in texts.items():
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        self.port = self.free_port()
        settings = os.path.join(args.work, "settings")
        os.makedirs(settings + "/udtx")
        lines = ["Host host", "HostName 127.0.0.1", f"Port {self.port}", f"psk-file {self.home}/house-key", "Host *", "timeout 20"]
        if args.ssh_config:
            lines = [f'ssh "ssh -F {args.ssh_config}"', "timeout 20"]
        with open(settings + "/udtx/config", "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("UDTX_")}
        self.environment.update(HOME=self.home, XDG_CONFIG_HOME=settings, PATH=args.tools + ":" + os.environ["PATH"])
        self.run("udtx-send keygen house-key")
        for name in ("server", "me"):
            self.run(f"udtx-send keygen --identity {name}")
        with open(self.home + "/me.pub", encoding="utf-8") as key, open(self.home + "/allowed", "w", encoding="utf-8") as allowed:
            allowed.write(key.read())

    @staticmethod
    def free_port():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind(("127.0.0.1", 0))
            return s.getsockname()[1]

    def run(self, command):
        done = subprocess.run(["bash", "-c", command], cwd=self.home, env=self.environment, stdin=subprocess.DEVNULL, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        if done.returncode != 0:
            raise RuntimeError(f"exit code {done.returncode}: {command}\n{done.stdout}")

    def serve(self, command):
        log = open(os.path.join(self.args.work, f"server{len(self.servers)}.log"), "w+", encoding="utf-8")
        server = subprocess.Popen(["bash", "-c", "exec " + command], cwd=self.home, env=self.environment, stdin=subprocess.DEVNULL,
                                  stdout=log, stderr=log)
        self.servers.append(server)
        for _ in range(400):
            log.seek(0)
            said = log.read()
            if "listening on" in said:
                return
            if server.poll() is not None:
                raise RuntimeError(f"does not listen: {command}\n{said}")
            time.sleep(0.05)
        raise RuntimeError(f"does not listen: {command}")

    def stop_servers(self):
        for server in self.servers:
            if server.poll() is None:
                server.send_signal(signal.SIGTERM)
                server.wait(20)
        self.servers = []


def filled_in(command):
    for word in sorted(STANDS_FOR, key=len, reverse=True):
        command = re.sub(r"(?<![A-Za-z])" + re.escape(word), STANDS_FOR[word], command)
    return command


def why_not(command):
    if command in EXACTLY:
        return EXACTLY[command]
    return next((reason for start, reason in NO_COMMANDS.items() if command.startswith(start)), None)


def is_over_ssh(command):
    # Commands whose only host is a login, as scp writes it.
    return bool(re.search(r"(?<![/\w])(\[user@\]|user@)?host:(?!\d)", command)) and "udtx://" not in command


def play(sandbox, commands):
    """Runs one block in order, as a user would type it."""
    serving = any("--listen" in command for command in commands)
    for command in commands:
        typed = filled_in(command)
        typed = re.sub(r"\[[^\]]*\]", "", typed)
        typed = re.sub(r"(host)?:(7000|7011)\b", f"127.0.0.1:{sandbox.port}", typed)
        typed = typed.replace("udtx://host/", f"udtx://127.0.0.1:{sandbox.port}/")
        typed = typed.replace("--dir /data", f"--dir {sandbox.data}")
        keys = "--psk-file house-key"
        if "--listen" in typed:
            sandbox.serve(typed if "--psk-file" in typed or "--identity" in typed else f"{typed} {keys}")
            continue
        if not serving and "udtx://" in typed and not sandbox.servers:
            rights = "--allow-read"
            if "--identity" in typed:
                keys, rights = "--identity server --authorized-keys allowed", ""
            # Data without a name can only be written to a receiver's standard output.
            place = "--one-off -" if command == "udtx-send - udtx://host/" else f"--dir {sandbox.data} {rights}"
            sandbox.serve(f"udtx-recv --listen 127.0.0.1:{sandbox.port} {keys} {place}")
        if "--identity" not in typed and "--psk-file" not in typed and "udtx://" in typed:
            typed = re.sub(r"udtx-(send|recv)", r"udtx-\1 --psk-file house-key", typed, count=1)
        elif "--psk-file key" in typed and not serving:
            typed = typed.replace("--psk-file key", "--psk-file house-key")
        if re.search(r"udtx-send( \S+)* - udtx", typed) and "|" not in typed:
            typed = "echo text | " + typed
        sandbox.run(typed)


def main():
    parser = argparse.ArgumentParser()
    for name in ("root", "tools", "work"):
        parser.add_argument(name)
    for name in ("--ssh-config", "--far-home", "--far-programs"):
        parser.add_argument(name)
    args = parser.parse_args()
    failed = ran = 0
    for path in [args.root + "/README.md"] + sorted(glob.glob(args.root + "/docs/**/*.md", recursive=True)):
        for line, command in neither_run_nor_marked(path) if "/docs/lab/" not in path and "/docs/inside/" not in path else ():
            failed += 1
            print(f"{os.path.relpath(path, args.root)}:{line}: no test runs it, and it has no '# second host': {command}")
        for line, commands in commands_in(path):
            commands = [command for command in commands if why_not(command) is None]
            over_ssh = any(is_over_ssh(command) for command in commands)
            if not commands or over_ssh != bool(args.ssh_config):
                continue
            sandbox = Sandbox(args)
            if over_ssh:
                commands = [re.sub(r"udtx-(send|recv)", lambda m: f"udtx-{m[1]} --remote-bin {args.far_programs}/udtx-"
                                   + ("recv" if m[1] == "send" else "send"), command, count=1) for command in commands]
            try:
                play(sandbox, commands)
                ran += 1
                print(f"{os.path.relpath(path, args.root)}:{line}: {len(commands)} commands")
            except (RuntimeError, subprocess.TimeoutExpired) as why:
                failed += 1
                print(f"{os.path.relpath(path, args.root)}:{line}: {why}")
            sandbox.stop_servers()
    print(f"{ran} examples ran, {failed} failed")
    # At least one example must have run.
    return 1 if failed or ran == 0 else 0


sys.exit(main())
