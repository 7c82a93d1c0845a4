"""Computes figures from counters. Its only I/O is reading CSV files."""
import csv
import math
import re


def median(values):
    """Median of the known values: for an even number the mean of the middle two, without values None."""
    known = sorted(v for v in values if v is not None)
    if not known:
        return None
    middle = len(known) // 2
    return known[middle] if len(known) % 2 else (known[middle - 1] + known[middle]) / 2


def jain(shares):
    """Jain's index: 1 if all shares are equal, 1/n if one flow has everything; None without flows or bytes."""
    squares = sum(s * s for s in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares > 0 else None


def at(samples, time):
    """A counter's value at `time`, interpolated linearly between its samples [(time, value)]; None before the first
    and after the last one."""
    if not samples or time < samples[0][0] or time > samples[-1][0]:
        return None
    before = samples[0]
    for sample in samples:
        if sample[0] >= time:
            span = sample[0] - before[0]
            return sample[1] if span <= 0 else before[1] + (sample[1] - before[1]) * (time - before[0]) / span
        before = sample
    return before[1]


def rate(samples, start, end):
    """Bits per second of a byte counter between two times. After its last sample the counter keeps its value."""
    if not samples or end <= start:
        return 0.0
    clamp = lambda t: min(max(t, samples[0][0]), samples[-1][0])  # noqa: E731
    return 8.0 * (at(samples, clamp(end)) - at(samples, clamp(start))) / (end - start)


def stepped_rate(samples, start, end):
    """Bits per second of a byte counter that moves in steps, from the first step between two times to the last one. (A
    receiver may write pieces of 1 MiB, 0.4 s apart at 20 Mbit/s.) If the pause after the last step is longer than any
    pause between steps, the flow has stopped and the pause counts."""
    steps = [now for before, now in zip(samples, samples[1:]) if start <= now[0] <= end and now[1] != before[1]]
    if len(steps) < 3:
        return rate(samples, start, end)
    longest = max(later[0] - earlier[0] for earlier, later in zip(steps, steps[1:]))
    (first, begin_value), (last, end_value) = steps[0], steps[-1]
    return 8.0 * (end_value - begin_value) / ((last if end - last <= longest else end) - first)


def series(samples, start, end, step):
    """[(middle of the interval - start, Mbit/s)]"""
    points = []
    count = int((end - start) / step + 1e-9)
    for i in range(count):
        low = start + i * step
        points.append((low - start + step / 2, rate(samples, low, low + step) / 1e6))
    return points


def settles_after(samples_of_flow, others, join, fair_share, tolerance, window, limit):
    """Seconds from `join` until a flow's share of the total stays within `tolerance` of `fair_share`. The share is
    taken in windows of `window` seconds until `join + limit`. Returns None if it does not settle."""
    settled = None
    for i in range(int(limit / window + 1e-9)):
        low, high = join + i * window, join + (i + 1) * window
        own = stepped_rate(samples_of_flow, low, high)
        total = own + sum(stepped_rate(other, low, high) for other in others)
        inside = total > 0 and abs(own / total / fair_share - 1.0) <= tolerance
        if not inside:
            settled = None
        elif settled is None:
            settled = high - join
    return settled


class LineTrace:
    """The emulator's CSV of one direction."""

    def __init__(self, path, name="down"):
        with open(path, newline="", encoding="utf-8") as file:
            self.rows = [{k: float(v) for k, v in row.items() if k != "line"}
                         for row in csv.DictReader(file) if row["line"] == name]

    def window(self, start, end):
        return [row for row in self.rows if start <= row["time"] <= end]

    def mean_wait_ms(self, start, end):
        """Mean queueing delay of the packets that passed the queue between two times; None without packets."""
        rows = self.window(start, end)
        total = packets = 0.0
        for before, row in zip(rows, rows[1:]):
            queued = row["queued"] - before["queued"]
            total += row["wait_ms"] * queued
            packets += queued
        return total / packets if packets > 0 else None

    def rate(self, start, end):
        """Bits per second delivered, IP headers and retransmissions included."""
        return rate([(row["time"], row["delivered_bytes"]) for row in self.rows], start, end)

    def dropped(self, start, end):
        """Shares of the packets offered between two times that were dropped (by the queue, at random)."""
        rows = self.window(start, end)
        if len(rows) < 2 or rows[-1]["offered"] <= rows[0]["offered"]:
            return None, None
        offered = rows[-1]["offered"] - rows[0]["offered"]
        return tuple((rows[-1][key] - rows[0][key]) / offered for key in ("dropped_queue", "dropped_loss"))


def flow_counters(path, name="down"):
    """{host: [(time, bytes)]} of the emulator's CSV of flows"""
    flows = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["line"] == name:
                flows.setdefault(int(row["flow"]), []).append((float(row["time"]), float(row["delivered_bytes"])))
    return flows


def ratio_to_best(own, peers):
    """Ratio of `own` to the best peer; None if `own` or all peers are missing."""
    known = [p for p in peers if p is not None]
    return own / max(known) if own is not None and known and max(known) > 0 else None


def numbers(text):
    """'20,100,500' -> [20.0, 100.0, 500.0]"""
    parts = text.split(",")
    if not all(re.fullmatch(r"\d+(\.\d+)?", part) for part in parts):
        raise ValueError(f"{text!r} is not a list of numbers such as 20,100,500")
    return [float(part) for part in parts]


def value(text):
    """A field of a CSV file: a number if possible, None if empty, else the text."""
    try:
        return float(text) if text else None
    except ValueError:
        return text


def shown(value, digits=1):
    return "-" if value is None else f"{value:.{digits}f}"


def share(part, whole):
    """`part` over `whole`, rounded down, so that a value just below a goal does not look like the goal."""
    return "-" if part is None else f"{math.floor(1000.0 * part / whole) / 1000.0:.3f}"


def markdown(headings, rows):
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"
