"""Runs of one tool on one link, and the matrix of links."""
import itertools
import os
import shutil
import time
from dataclasses import dataclass

import figures
import net
import tools
from sampler import Sampler

STEADY_AFTER = 5.0  # seconds from the start of the sender
BACK_QUEUE = 20000  # bytes, queue of a narrow return path


@dataclass(frozen=True)
class Cell:
    rate: float   # Mbit/s
    rtt: float    # ms
    loss: float   # %, in the direction of the data
    queue: float  # BDP, in each direction
    back: float = 0.0       # kbit/s of the return path; 0: as fast as the direction of the data
    back_loss: float = 0.0  # %, on the return path
    faults: str = ""        # other impairments of the data: "jitter=3ms,reorder=1%/5ms"
    changes: tuple = ()     # changes during the run: "8s:down:rate=50M"

    def line(self, seed):
        narrow = f"rate={self.back}k,queue={BACK_QUEUE}," if self.back else ""
        faults = f",{self.faults}" if self.faults else ""
        changes = [part for change in self.changes for part in ("--at", change)]
        return ["--both", f"rate={self.rate}M,delay={self.rtt / 2}ms,queue={self.queue}bdp",
                "--up", f"{narrow}loss={self.back_loss}%", "--down", f"loss={self.loss}%{faults}", *changes,
                "--seed", str(seed)]

    def row(self, tool, run):
        """The columns that identify a run in a table."""
        return {"tool": tool, "rate": self.rate, "rtt": self.rtt, "loss": self.loss, "queue": self.queue, "run": run}

    def named(self):
        return f"{self.rate:g} Mbit/s, {self.rtt:g} ms, {self.loss:g} %, {self.queue:g} BDP"


def cells(rates, rtts, losses, queues, faults="", changes=()):
    return [Cell(*values, faults=faults, changes=tuple(changes))
            for values in itertools.product(rates, rtts, losses, queues)]


def key(row):
    """The values that identify a run in a table."""
    return tuple(row[name] for name in ("tool", "rate", "rtt", "loss", "queue", "run"))


def load():
    return os.getloadavg()[0]


def steady(bench, tool, cell, seconds, seed, steady_after=STEADY_AFTER):
    """Observes a running transfer for `seconds` and returns its figures from `steady_after` on."""
    size = int(cell.rate * 1e6 / 8 * (seconds + 5))
    source = bench.source(size)
    tool.prepare(cell)
    with net.EmulatedLine(bench.emulator, cell.line(seed), bench.work) as line, Sampler() as sampler:
        flow = tool.start(line, sampler, source, seconds)
        limit = flow.began + seconds
        while time.monotonic() < limit and flow.sender.poll() is None:
            time.sleep(0.05)
        end = min(time.monotonic(), limit)
        # A transfer that ends early has failed, as the source is larger than the link can carry in this time.
        failed = flow.sender.poll() is not None
        said = flow.stop()
        if failed:
            print(f"ended early: {flow.complaint()}", flush=True)
        report = line.stop_emulator()
    trace = figures.LineTrace(line.trace)
    begin = flow.began + steady_after
    dropped_queue, dropped_loss = trace.dropped(begin, end)
    return {
        **cell.row(tool.name, seed),
        "goodput_mbps": None if failed else figures.stepped_rate(flow.samples, begin, end) / 1e6,
        "wire_mbps": trace.rate(begin, end) / 1e6,
        "wait_ms": trace.mean_wait_ms(begin, end),
        "dropped_queue": dropped_queue, "dropped_loss": dropped_loss,
        "mtr_mbps": said.get("mtr_bps", 0) / 1e6 if tool.is_ours else None,
        "late_p99_us": report["late_us"]["p99"], "late_max_us": report["late_us"]["max"],
        "emulator_cpu": report["cpu_seconds"] / report["seconds"], "load": load(),
    }, figures.series(flow.samples, flow.began, end, 0.5), [
        (row["time"] - flow.began, row["queue_bytes"]) for row in trace.rows if flow.began <= row["time"] <= end]


def transfer(bench, tool, cell, size, limit, seed):
    """Seconds for a whole file; None if it took longer than `limit`."""
    source = bench.source(size)
    tool.prepare(cell)
    with net.EmulatedLine(bench.emulator, cell.line(seed), bench.work) as line, Sampler() as sampler:
        flow = tool.start(line, sampler, source, limit, size)
        while time.monotonic() < flow.began + limit and flow.sender.poll() is None:
            time.sleep(0.005)
        seconds = time.monotonic() - flow.began
        done = flow.sender.poll() == 0
        failed = flow.sender.poll() not in (None, 0)
        flow.stop()
        report = line.stop_emulator()
    if failed:
        print(f"failed: {flow.complaint()}", flush=True)
    if done:
        check_copy(bench, source)
    return {**cell.row(tool.name, seed), "seconds": seconds if done else None,
            "mean_wait_ms": report["down"]["mean_wait_ms"],
            "dropped_queue": report["down"]["dropped_queue"], "late_p99_us": report["late_us"]["p99"], "load": load()}


def check_copy(bench, source):
    """Raises RuntimeError if the copy's size is wrong: a peer that loses bytes must not look faster."""
    out = os.path.join(bench.work, "out-1")
    (name,) = os.listdir(out)
    if os.path.getsize(os.path.join(out, name)) != os.path.getsize(source):
        raise RuntimeError(f"{name} arrived with {os.path.getsize(os.path.join(out, name))} bytes")
    shutil.rmtree(out)
