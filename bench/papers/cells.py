"""The cells of the matrix: the figures of the congestion-degree paper, and the time until joining flows get equal
shares."""
from dataclasses import dataclass, field

LINE_MBPS = 100
LINE_BYTES = 1502  # bytes of a full packet on the link, as in cell.hpp
ACCESS_DELAY_MS = 10
PAPER_QUEUES = ["2500p", "8300p", "1 BDP", "2 BDP", "5 BDP"]
CROSS_FROM_S, CROSS_ON_S, CROSS_PERIOD_S = 5, 2, 3


@dataclass(frozen=True)
class Cell:
    experiment: str  # mtr, throughput, fairness or join
    name: str
    labels: tuple    # texts of the table's first columns
    args: tuple = field(default=())

    @property
    def slug(self):
        return "".join(c if c.isalnum() else "-" for c in f"{self.experiment}-{self.name}")


def queue_packets(queue, rtt_ms):
    """Converts '2500p' or '0.1 BDP' to packets. The BDP is the bottleneck's rate times the whole round trip."""
    if queue.endswith("p"):
        return int(queue[:-1])
    share = float(queue.split()[0])
    return max(1, round(share * LINE_MBPS * 1e6 / 8 * rtt_ms / 1e3 / LINE_BYTES))


def paper_cell(experiment, delay_ms, queue, flows, cross, seconds):
    rtt_ms = 2 * (ACCESS_DELAY_MS + delay_ms)
    labels = (f"{delay_ms} ms", queue) + (("on/off" if cross else "none",) if experiment == "fairness" else ())
    args = ["--line-delay-ms", delay_ms, "--queue-packets", queue_packets(queue, rtt_ms), "--flows", flows,
            "--cross-mbps", 50 if cross else 0, "--seconds", seconds]
    return Cell(experiment, ", ".join(labels), labels, tuple(map(str, args)))


def join_cell(rtt_ms, flows, queue):
    """Models flows from several hosts: the access link is ten times as fast as the bottleneck and has a long queue."""
    every_s = 5 if flows == 3 else 1
    labels = (f"{rtt_ms} ms", f"{flows}, {every_s} s apart", queue)
    args = ["--line-delay-ms", rtt_ms / 2 - ACCESS_DELAY_MS, "--access-mbps", 10 * LINE_MBPS,
            "--access-queue-packets", 10000, "--queue-packets", queue_packets(queue, rtt_ms), "--flows", flows,
            "--join-every-s", every_s, "--seconds", every_s * (flows - 1) + 20]
    return Cell("join", ", ".join(labels), labels, tuple(map(str, args)))


def all_cells():
    cells = [paper_cell("mtr", 60, queue, 1, True, 30) for queue in PAPER_QUEUES]
    cells += [paper_cell("throughput", delay, queue, 1, True, 40) for delay in (10, 50) for queue in PAPER_QUEUES]
    cells += [paper_cell("fairness", delay, queue, 3, cross, 40)
              for delay in (50, 100) for queue in PAPER_QUEUES for cross in (True, False)]
    cells += [join_cell(rtt, flows, queue) for rtt in (50, 100, 200) for flows in (3, 10)
              for queue in ("0.1 BDP", "1 BDP")]
    return cells


def quick_cells():
    """One cell of each figure. They take about a minute."""
    return [paper_cell("mtr", 60, "2500p", 1, True, 30), paper_cell("throughput", 50, "2500p", 1, True, 40),
            paper_cell("fairness", 100, "8300p", 3, True, 40), join_cell(100, 3, "1 BDP")]


def sweep_cells():
    """Figure 9 with cross traffic. Without it, the gaps of packet pairs hardly change and `cd` behaves as `udt`."""
    return [paper_cell("fairness", delay, queue, 3, True, 40) for delay in (50, 100) for queue in ("2500p", "8300p")]
