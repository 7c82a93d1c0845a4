"""Runs the programs that measure the curves. Each run is one call that returns a dictionary of figures."""
import os
import re
import subprocess
import time

import net
import place

LONGEST_RUN = 900.0  # seconds
MTU = "1500"
INCAST = re.compile(r"in ([0-9.]+) s, Jain ([0-9.]+)")
RATE = re.compile(r"goodput ([0-9.]+) Mbit/s")


def figures(size, seconds, cpu, rss):
    """`size`: bytes moved; `rss`: peak memory of sender and receiver, or of the one process that is both."""
    return {"goodput_mbps": 8 * size / seconds / 1e6, "cpu_s_per_gb": 1e9 * cpu / size if size else None,
            "rss_mb": max(rss) / 1e6, "seconds": seconds}


def finish(process, what, log):
    code = process.wait(LONGEST_RUN)
    if code == 0:
        return
    process.end()
    with open(log, encoding="utf-8", errors="replace") as file:
        last = (file.read().strip().splitlines() or [""])[-1]
    raise RuntimeError(f"{what} {'took too long' if code is None else f'ended with {code}'}: {last[:200]}")


def start(command, log, **options):
    with open(log, "wb") as file:
        return place.Meter(subprocess.Popen([*net.WITH_US, *command], stdout=options.pop("stdout", file), stderr=file, **options))


class Copy:
    """The udtx tools over 127.0.0.1 with packets of 1,500 bytes."""

    def __init__(self, bench):
        self.apps, self.work, self.key = os.path.join(bench.build, "apps"), bench.work, bench.key()

    def log(self, end):
        return os.path.join(self.work, f"{end}.log")

    def receiver(self, target):
        """Starts the receiver and returns (process, port)."""
        command = [os.path.join(self.apps, "udtx-recv"), "--listen", "127.0.0.1:0", "--one-off", "--psk-file", self.key,
                   *target]
        with open(os.devnull, "wb") as nothing:
            process = start(command, self.log("receiver"), stdin=subprocess.DEVNULL, stdout=nothing)
        found = []

        def listens():
            with open(self.log("receiver"), encoding="utf-8", errors="replace") as file:
                found[:] = re.findall(r"listening on [^ ]*:(\d+)", file.read())
            return found

        net.wait_until(listens, 10, "the receiver")
        return process, found[0]

    def run(self, sources, size, target, url="", options=(), stdin=subprocess.DEVNULL):
        receiver, port = self.receiver(target)
        began = time.monotonic()
        sender = start([os.path.join(self.apps, "udtx-send"), "-q", "--mtu", MTU, "--psk-file", self.key, *options, *sources,
                        f"udtx://127.0.0.1:{port}/{url}"], self.log("sender"), stdin=stdin)
        try:
            finish(sender, "the sender", self.log("sender"))
            finish(receiver, "the receiver", self.log("receiver"))
        finally:
            sender.end()
            receiver.end()
        return figures(size, sender.ended - began, sender.cpu + receiver.cpu, (sender.peak, receiver.peak))

    def files(self, sources, size, options=()):
        """Copies files into a directory that is removed afterwards."""
        with net.work_directory(self.work) as out:
            return self.run(sources, size, ["--dir", out], options=options)

    def zeros(self, size):
        """Copies zeros from a pipe to /dev/null, for sizes that do not fit on the machine."""
        with subprocess.Popen(["head", "-c", str(size), "/dev/zero"], stdout=subprocess.PIPE) as source:
            return self.run(["-"], size, ["-"], url="zeros", stdin=source.stdout)


class Connections:
    """udtx-scale-connections: measures handshakes, idle memory, and `size` bytes over all connections together."""

    def __init__(self, bench):
        self.program = os.path.join(bench.build, "bench", "scale", "udtx-scale-connections")
        self.work, self.key = bench.work, bench.key()

    def start(self, name, *words):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        return start([self.program, *words], os.path.join(self.work, f"{name}.log"), **pipes)

    @staticmethod
    def answer(meter):
        """The number at the end of the next output line."""
        line = meter.process.stdout.readline().split()
        if not line:
            raise RuntimeError("udtx-scale-connections ended early")
        return float(line[-1])

    def run(self, count, size):
        each = max(1, size // count)
        listener = self.start("listener", "listen", self.key)
        caller = None
        try:
            caller = self.start("caller", "connect", self.key, str(int(self.answer(listener))), str(count), str(each))
            connected = self.answer(caller)
            at_rest = [place.memory(meter.pid, "VmRSS") for meter in (caller, listener)]
            caller.process.stdin.write(b"\n")
            caller.process.stdin.flush()
            delivered = self.answer(caller)
            finish(caller, "the connecting end", os.path.join(self.work, "caller.log"))
            listener.process.stdin.close()
            finish(listener, "the listening end", os.path.join(self.work, "listener.log"))
        finally:
            for meter in (caller, listener):
                if meter is not None:
                    meter.end()
        found = figures(each * count, delivered, caller.cpu + listener.cpu, (caller.peak, listener.peak))
        return {**found, "handshakes_per_s": count / connected, "rss_at_rest_mb": max(at_rest) / 1e6}


def incast(bench, count):
    """`count` connections of 300 kB in virtual time on a link with 1 Mbit/s per connection. All ends are in one
    process."""
    log = os.path.join(bench.work, "incast.log")
    process = start([os.path.join(bench.build, "bench", "scale", "udtx-scale-incast"), str(count)], log, stdin=subprocess.DEVNULL)
    try:
        finish(process, "udtx-scale-incast", log)
    finally:
        process.end()
    with open(log, encoding="utf-8") as file:
        seconds, fairness = (float(x) for x in INCAST.search(file.read()).groups())
    return {**figures(300_000 * count, seconds, process.cpu, (process.peak,)), "jain": fairness}


def simulated(bench, rate, rtt_ms, seconds, loss=0.0):
    """One flow in virtual time, with both ends in one process. `rate` is in bit/s. Goodput is that of the second
    half."""
    command = [os.path.join(bench.build, "bench", "sim", "udtx-sim-flows"), "--rate", f"{rate:.0f}", "--rtt", f"{rtt_ms:g}",
               "--loss", f"{loss:g}", "--flows", "udtx", "--seconds", f"{seconds:g}", "--from", f"{seconds / 2:g}"]
    log = os.path.join(bench.work, "sim.log")
    process = start(command, log, stdin=subprocess.DEVNULL)
    try:
        finish(process, "udtx-sim-flows", log)
    finally:
        process.end()
    with open(log, encoding="utf-8") as file:
        goodput = float(RATE.search(file.read())[1]) * 1e6
    found = figures(goodput * seconds / 8, seconds, process.cpu, (process.peak,))
    return {**found, "of_the_line": goodput / rate}
