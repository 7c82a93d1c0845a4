"""Real tools on loopback. In one of them calls fail."""
import os
import re
import shutil
import signal
import struct
import subprocess
import time

from trees import leftovers

# The end that connects, and the end at which calls fail. The end with the files sends them. "new": the destination
# directory has to be created.
ROLES = ("push_sender", "push_server", "push_new_server", "pull_receiver", "pull_new_receiver", "pull_server")
# A generous limit: the tools give up by themselves after TOOL_TIMEOUT.
HANG, TOOL_TIMEOUT = 120, 12
# Exit codes of docs/using/errors.md. Any other code, or a signal, is a failure.
CODES = {0, 1, 10, 11, 12, 23, 30, 40, 41, 42, 130}


class Failed(Exception):
    pass


def named_calls(path):
    """The program's own functions in a trace, innermost first."""
    if not os.path.exists(path):
        return []
    out = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            found = re.match(r"(/\S*udtx-\w+)\(.*\+(0x[0-9a-f]+)\)", line)
            if not found:
                out += [] if "(" in line else [line.strip()]
                continue
            named = subprocess.run(["addr2line", "-Cfe", found.group(1), found.group(2)], capture_output=True, text=True)
            out.append("  " + (named.stdout.splitlines() or [line])[0][:150])
    return out


def read_counts(path):
    """{kind: (made, failed)}"""
    with open(path, "rb") as file:
        data = file.read()
    out = {}
    for at in range(0, len(data), 32):
        name, made, failed = struct.unpack("16sQQ", data[at:at + 32])
        out[name.rstrip(b"\0").decode()] = (made, failed)
    return out


class Server:
    def __init__(self, stage, rule=None):
        self.stage, self.log = stage, os.path.join(stage.root, "server.log")
        self.counts = os.path.join(stage.root, "server.counts") if rule is not None else None
        if self.counts and os.path.exists(self.counts):
            os.unlink(self.counts)  # otherwise a process would continue its counts
        command = [stage.recv, "--listen", "127.0.0.1:0", "--dir", stage.root + "/served", "--psk-file", stage.key,
                   "--allow-read", "--allow-delete", "--allow-set-id"]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log,
                                            env=stage.environment(rule, self.counts))
        self.port = self._port()

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def _port(self):
        """The port; None if the server ended before it listened."""
        end = time.monotonic() + HANG
        while time.monotonic() < end:
            found = re.search(r"listening on \S+:(\d+)/udp", self.said())
            if found:
                return found.group(1)
            if self.process.poll() is not None:
                return None
            time.sleep(0.003)
        self.stop()
        raise Failed("the server neither listens nor ends")

    def stop(self):
        """Stops the server and returns its exit code; kills it if it does not end."""
        # The first signal lets running transfers finish. Without memory they would never finish.
        for patience in (5, HANG):
            if self.process.poll() is None:
                self.process.send_signal(signal.SIGTERM)
            try:
                return self.process.wait(patience)
            except subprocess.TimeoutExpired:
                continue
        self.process.kill()
        self.process.wait()
        raise Failed("the server does not end after TERM")


class Stage:
    """A directory with a key, the trees and a server without failures; one case at a time."""

    def __init__(self, root, tools, library, tree):
        self.root, self.library, self.tree = root, library, tree
        self.send, self.recv = os.path.join(tools, "udtx-send"), os.path.join(tools, "udtx-recv")
        self.key, self.served = os.path.join(root, "key"), os.path.join(root, "served")
        os.makedirs(self.served)
        os.makedirs(os.path.join(root, "run"))
        subprocess.run([self.send, "keygen", self.key], check=True, stderr=subprocess.DEVNULL, env=self.environment())
        subprocess.run(["cp", "-a", tree.new, self.served + "/src"], check=True)
        self.clean = None

    def environment(self, rule=None, counts=None):
        out = {k: v for k, v in os.environ.items() if not k.startswith("UDTX_")}
        out["XDG_CONFIG_HOME"] = self.root + "/no-settings"
        out["XDG_RUNTIME_DIR"] = self.root + "/run"
        if rule is not None:
            out.update(LD_PRELOAD=self.library, UDTX_FAULT=rule, UDTX_FAULT_COUNTS=counts, UDTX_FAULT_TRACE=self.root + "/trace")
        return out

    def clean_server(self):
        if self.clean is None or self.clean.process.poll() is not None:
            self.clean = Server(self)
        return self.clean

    def close(self):
        if self.clean is not None:
            self.clean.stop()

    def fresh(self, role):
        """The destination of the transfer, with the old tree in it unless it has to be new."""
        top = os.path.join(self.served if role.startswith("push") else self.root, "dst")
        if os.path.exists(top):
            subprocess.run(["chmod", "-R", "u+rwx", top], check=True)
            shutil.rmtree(top)
        for left in leftovers(self.served):
            os.unlink(os.path.join(self.served, left))
        if "new" in role:
            return top + "/made/below"
        subprocess.run(["cp", "-a", self.tree.old, top], check=True)
        return top

    def tidy(self, place):
        subprocess.run([self.recv, "clean", place], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env=self.environment())

    def transfer(self, role, port, place, rule=None, counts=None):
        """Connects to the server at `port`; (exit code, output)."""
        url = f"udtx://127.0.0.1:{port}"
        ends = ([self.send], [self.tree.new + "/", url + place.removeprefix(self.served)]) if role.startswith("push") else (
            [self.recv], [url + "/src/", place + "/"])
        command = ends[0] + ["-a", "--delete", "--psk-file", self.key, "--timeout", str(TOOL_TIMEOUT)] + ends[1]
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=self.environment(rule, counts))
        try:
            _, said = child.communicate(timeout=HANG)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            raise Failed(f"the {'first' if rule else 'second'} transfer hangs") from None
        return child.returncode, said.decode(errors="replace")
