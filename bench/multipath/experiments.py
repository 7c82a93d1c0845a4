"""The experiments: their links, the changes to the links, and the figures that judge them."""
from dataclasses import dataclass

import figures
from topology import LineSpec

# Stream bytes per link byte: a datagram of 1,472 bytes carries 1,441 stream bytes and takes 1,500 bytes on the link.
PAYLOAD = 1441.0 / 1500.0
NEVER = 99.0  # s, stands for an event that did not happen
EVERYONE = ("udtx", "mptcp", "mpquic", "alone", "tcp")
ALL_PATHS = ("udtx", "mptcp", "mpquic")


def line(mbps, rtt_ms, queue="2bdp", extra="", changes=(), paths=1):
    """A link whose packets may be reordered, as in netem: after the delay falls, packets overtake earlier ones."""
    settings = f"rate={mbps}M,delay={rtt_ms / 2}ms,queue={queue},order=free" + ("," + extra if extra else "")
    return LineSpec(settings, tuple(changes), paths)


def dead(begin, end=None):
    """Changes that drop every packet from `begin` to `end`."""
    return [(begin, "both:loss=100%")] + ([(end, "both:loss=0%")] if end is not None else [])


@dataclass(frozen=True)
class Figure:
    """`measure` takes an observed.Run. `goal`: a number, or ("alone", share), a share of that entrant's figure."""
    label: str
    measure: object
    goal: object = None
    higher: bool = True
    digits: int = 1

    def bound(self, medians):
        if isinstance(self.goal, tuple):
            other = medians.get(self.goal[0])
            return None if other is None else other * self.goal[1]
        return self.goal

    def met(self, value, medians):
        bound = self.bound(medians)
        if bound is None or value is None:
            return None
        return value >= bound if self.higher else value <= bound


@dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    lines: list
    judged_by: list
    kind: str = "ordered"  # a stream from standard input to standard output; "placed": a file
    seconds: float = 12.0
    entrants: tuple = EVERYONE
    best: int = 0             # index of the link that `alone` and `tcp` use
    size: int = None          # size of a file whose completion is awaited
    options: tuple = ()       # options of udtx-send
    backup: bool = False      # all paths but the first are standby
    beside: str = None        # kind of a competing flow over the last pair of the only link
    quick: bool = False


def mean(label, begin, end, goal=None):
    return Figure(label, lambda run: run.goodput(begin, end), goal)


def late(label, measure, goal=None):
    """A figure in seconds. An event that does not happen counts as very late (NEVER)."""
    def measured(run):
        value = measure(run)
        return NEVER if value is None else value
    return Figure(label, measured, goal, higher=False, digits=2)


def equal(count, mbps):
    return Experiment(
        {2: "two", 3: "three", 4: "four"}[count], f"{count} x {mbps:g} Mbit/s, 10 ms, ordered",
        [line(mbps, 10)] * count, [mean("Mbit/s", 2, 12, 0.94 * mbps * count)],
        entrants=EVERYONE if count == 2 else ALL_PATHS, quick=count == 2)


def slow_for_ten():
    change = [(4.0, "down:delay=1005ms"), (14.0, "down:delay=5ms")]
    return Experiment(
        "delay", "2 x 50 Mbit/s, 10 ms, one a second more for 10 s, ordered", [line(50, 10), line(50, 10, changes=change)],
        [mean("Mbit/s in these 10 s", 4, 14, 46.0),
         late("s until both are in use (a tenth of the rate)", lambda run: run.given(1, 14.0, 5.0, 5.0), 1.0),
         late("s until it is given half its rate", lambda run: run.given(1, 14.0, 25.0, 5.0)),
         mean("Mbit/s in the 2nd to 4th s after", 15, 18)],
        entrants=ALL_PATHS, seconds=18.0, quick=True)


FAULTS = {
    "clean": {},
    "loss": {"extra": "loss=10%"},
    "jitter": {"extra": "jitter=50ms"},
    "flap": {"changes": [(1.5 + i / 2, f"both:loss={100 * (1 - i % 2)}%") for i in range(21)]},
    # Simulates other traffic that leaves a tenth of the rate, behind a queue of 2 to 20 s.
    "bloat": {"queue": "2500000", "changes": [(2.0, "both:rate=1M")]},
}


def unequal(fault, kind):
    other = {"queue": "1bdp", **FAULTS[fault]}
    goal = ("alone", 1.0) if kind == "ordered" else 0.95 * 110 * PAYLOAD if fault == "clean" else None
    return Experiment(
        f"unequal-{kind}-{fault}", f"100 Mbit/s 10 ms + 10 Mbit/s 200 ms ({fault}), {kind}",
        [line(100, 10), line(10, 200, **other)], [mean("Mbit/s", 2, 12, goal)], kind=kind,
        quick=(fault, kind) == ("bloat", "ordered"))


def death():
    # From 5 s on, only one link works.
    return Experiment(
        "death", "2 x 50 Mbit/s, 10 ms, the first dies at 5 s, ordered", [line(50, 10, changes=dead(5.0)), line(50, 10)],
        [late("s lost of the other path", lambda run: run.cost(5.0, 10.0, 50 * PAYLOAD), 1.0),
         late("s of silence", lambda run: run.silence(5.0, 10.0)), mean("Mbit/s from 6 s on", 6, 10)],
        entrants=ALL_PATHS, seconds=10.5, quick=True)


def outage():
    return Experiment(
        "outage", "2 x 50 Mbit/s, 10 ms, both dead from 4 to 34 s, ordered", [line(50, 10, changes=dead(4.0, 34.0))] * 2,
        [late("s until half of the rate", lambda run: run.resumes(34.0, 50.0, 12.0), 10.0),
         late("s until both are given half of theirs", lambda run: latest(
             run.given(0, 34.0, 25.0, 12.0), run.given(1, 34.0, 25.0, 12.0)))],
        entrants=ALL_PATHS, seconds=47.0)


def latest(*times):
    return None if None in times else max(times)


def never():
    return Experiment(
        "never", "50 Mbit/s, 10 ms + one where nothing passes, ordered", [line(50, 10), line(50, 10, extra="loss=100%")],
        [mean("Mbit/s", 1, 10, ("alone", 0.99)),
         Figure("told of it", lambda run: 1.0 if "nothing comes back" in run.words else 0.0, 1.0, digits=0)],
        seconds=10.5)


def bloated_file(size=100_000_000):
    # From 2 s on, other traffic leaves 2 Mbit/s of the second link, behind a queue of seconds.
    ideal = 2.0 + (size * 8e-6 / PAYLOAD - 200.0) / 52.0
    return Experiment(
        "file", "100 MB over 50 Mbit/s and 50, then 2 Mbit/s behind 5 MB of queue",
        [line(50, 10), line(50, 10, queue="5000000", changes=[(2.0, "both:rate=2M")])],
        [late(f"s (ideal {ideal:.1f})", lambda run: run.ended, 1.05 * ideal)],
        kind="placed", seconds=45.0, size=size, entrants=ALL_PATHS)


def failover():
    return Experiment(
        "failover", "2 x 50 Mbit/s, 10 ms, the second spare, the first dies at 5 s and returns at 9 s, ordered",
        [line(50, 10, changes=dead(5.0, 9.0)), line(50, 10)],
        [late("s to the spare path", lambda run: run.delivers(1, 5.0, 25.0, 4.0), 1.0),
         late("s back to the first", lambda run: run.delivers(0, 9.0, 25.0, 3.5)), mean("Mbit/s, 1 to 12 s", 1, 12)],
        entrants=("udtx", "mptcp"), seconds=12.5, options=("--multipath", "failover"), backup=True)


def coupling(beside):
    def share(run):
        at = {host: figures.rate(samples, 20.0, 40.0) for host, samples in run.flows[0].items()}
        return (at.get(1, 0.0) + at.get(2, 0.0)) / max(1.0, sum(at.values()))

    return Experiment(
        f"coupling-{beside}", f"two paths through one bottleneck of 100 Mbit/s, 50 ms, 1 BDP, beside one {beside}",
        [line(100, 50, queue="1bdp", paths=3)],
        [Figure("share of both, 20 to 40 s", share, 0.6, higher=False, digits=2)], seconds=40.0, beside=beside,
        entrants=("udtx", "mptcp") if beside == "tcp" else ("udtx",))


def everything():
    return [equal(2, 50), slow_for_ten(), unequal("clean", "placed"),
            *[unequal(fault, "ordered") for fault in FAULTS], death(), never(), bloated_file(), equal(3, 25),
            equal(4, 25), failover(), outage(), coupling("tcp"), coupling("udtx")]
