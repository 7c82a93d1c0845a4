"""Transfers a tree of many small files over one link: udtx, and over TCP BBR an rsync daemon and tar through nc."""
import os
import shutil
import subprocess
import time

import cells
import net
import tools
from sampler import Sampler

FILES_IN_DIRECTORY = 500


def make_tree(directory, count, size):
    """Makes `count` incompressible files of `size` bytes and returns their directory."""
    source = os.path.join(directory, f"tree-{count}")
    if os.path.isdir(source):
        return source
    for first in range(0, count, FILES_IN_DIRECTORY):
        below = os.path.join(source, f"d{first // FILES_IN_DIRECTORY:04}")
        os.makedirs(below)
        for number in range(first, min(first + FILES_IN_DIRECTORY, count)):
            with open(os.path.join(below, f"file-{number:06}"), "wb") as file:
                file.write(os.urandom(size))
    return source


def listens_to_tcp(process):
    """True if a process in the same namespace uses the tools' port with TCP."""
    with open(f"/proc/{process.pid}/net/tcp", encoding="ascii") as file:
        return any(f":{tools.PORT:04X} " in row for row in file)


class Rsync(tools.Tool):
    """rsync to a daemon, without ssh. Both ends of its connection use BBR, which the namespaces' sysctl selects."""
    name = "rsync-bbr"

    def missing(self):
        if not shutil.which("rsync"):
            return "needs rsync"
        return tools.Tcp(self.bench, "bbr").missing()

    def receiver(self, out, host, size):
        config = os.path.join(self.bench.work, "rsyncd.conf")
        with open(config, "w", encoding="ascii") as file:
            file.write(f"use chroot = no\nuid = root\ngid = root\nreverse lookup = no\n[out]\npath = {out}\n"
                       "read only = no\n")
        return ["sh", "-c", "sysctl -qw net.ipv4.tcp_congestion_control=bbr; "
                f"exec rsync --daemon --no-detach --config={config} --port={tools.PORT} --address={net.b_address(host)}"]

    def sender(self, source, host, seconds, size):
        return ["sh", "-c", "sysctl -qw net.ipv4.tcp_congestion_control=bbr; "
                f"exec rsync -rt {source} rsync://{net.b_address(host)}:{tools.PORT}/out/"]

    def listens(self, log, process):
        return listens_to_tcp(process)


class TarNc(tools.Tool):
    """tar through nc, which neither compares, confirms nor flushes files. The run ends when both ends have ended."""
    name = "tar-nc"

    def missing(self):
        return None if shutil.which("nc") and shutil.which("tar") else "needs nc (Debian: netcat-openbsd)"

    def receiver(self, out, host, size):
        return ["sh", "-c", f"nc -l {net.b_address(host)} {tools.PORT} | tar -x -C {out}"]

    def sender(self, source, host, seconds, size):
        return ["sh", "-c", "sysctl -qw net.ipv4.tcp_congestion_control=bbr 2>/dev/null; "
                f"tar -c -C {os.path.dirname(source)} {os.path.basename(source)} | nc -N {net.b_address(host)} {tools.PORT}"]

    def listens(self, log, process):
        return listens_to_tcp(process)


def at_end(tool, sender, receiver):
    return sender.poll() is not None and (not isinstance(tool, TarNc) or receiver.poll() is not None)


def run(bench, tool, cell, source, limit, seed):
    """Seconds for the whole tree, from a cold start to the sender's end."""
    with net.EmulatedLine(bench.emulator, cell.line(seed), bench.work) as line, Sampler() as sampler:
        flow = tool.start(line, sampler, source, limit, 1)
        while time.monotonic() < flow.began + limit and not at_end(tool, flow.sender, flow.receiver):
            time.sleep(0.005)
        seconds = time.monotonic() - flow.began
        done = flow.sender.poll() == 0
        failed = flow.sender.poll() not in (None, 0)
        flow.stop()
        line.stop_emulator()
    if failed:
        print(f"failed: {flow.complaint()}", flush=True)
    arrived = os.path.join(bench.work, "out-1", os.path.basename(source))
    if done and subprocess.run(["diff", "-r", source, arrived], check=False).returncode != 0:
        raise RuntimeError(f"{tool.name}: the trees differ")
    shutil.rmtree(os.path.join(bench.work, "out-1"), ignore_errors=True)
    return {**cell.row(tool.name, seed), "seconds": seconds if done else None, "load": cells.load()}
