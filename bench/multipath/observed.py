"""Observations of one run. All times count from the flow's start."""
from dataclasses import dataclass, field

import figures

STEP = 0.1  # s, length of the windows in which the rate is measured


@dataclass
class Run:
    samples: list                               # [(s, bytes that the receiver has written)]
    paths: list                                 # per link: {column of the emulator's CSV: [(s, value)]}
    flows: list = field(default_factory=list)   # per link: {host: [(s, bytes)]}
    ended: float = None                         # s, if it ended by itself and successfully
    said: dict = field(default_factory=dict)    # the sender's JSON
    words: str = ""                             # the sender's standard error

    def goodput(self, begin, end):
        """Mbit/s"""
        return figures.stepped_rate(self.samples, begin, end) / 1e6

    def cost(self, begin, end, mbps):
        """Seconds lost between `begin` and `end`, compared with a constant rate of `mbps`."""
        return (end - begin) * (1.0 - figures.rate(self.samples, begin, end) / 1e6 / mbps)

    def silence(self, begin, end):
        """The longest time between `begin` and `end` without a new byte."""
        steps = [t for (_, v), (t, w) in zip(self.samples, self.samples[1:]) if w != v and begin <= t <= end]
        marks = [begin, *steps, end]
        return max(later - earlier for earlier, later in zip(marks, marks[1:]))

    def resumes(self, after, mbps, limit):
        """Seconds from `after` until the receiver writes at `mbps` or faster; None if it does not within `limit`."""
        return first_window(self.samples, after, mbps, limit)

    def given(self, line, after, mbps, limit):
        """As resumes(), for the rate that the sender offers to a link, whether or not the link loses it."""
        return first_window(self.paths[line]["offered_bytes"], after, mbps, limit)

    def delivers(self, line, after, mbps, limit):
        """As resumes(), for the rate that a link delivers."""
        return first_window(self.paths[line]["delivered_bytes"], after, mbps, limit)

    def line_mbps(self, line, begin, end):
        return figures.rate(self.paths[line]["delivered_bytes"], begin, end) / 1e6

    def copies(self):
        """Percentage of the sent bytes that were in flight on another path; None if the tool does not report it."""
        paths = self.said.get("paths", [])
        total = sum(path["bytes"] for path in paths)
        return 100.0 * sum(path["reinjected_bytes"] for path in paths) / total if total else None


def first_window(samples, after, mbps, limit):
    for step in range(round(limit / (STEP / 5))):
        begin = after + step * STEP / 5
        if figures.rate(samples, begin, begin + STEP) >= mbps * 1e6:
            return begin + STEP - after
    return None


def columns(trace, zero):
    """{column: [(s, value)]} of a figures.LineTrace"""
    return {name: [(row["time"] - zero, row[name]) for row in trace.rows]
            for name in ("delivered_bytes", "offered_bytes", "queue_bytes")}
