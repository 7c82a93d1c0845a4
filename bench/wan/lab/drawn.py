"""Links drawn with a seeded Latin hypercube, and the best tool on each."""
import random
import sys

import cells
import figures

LINES = 60
# Lowest value, highest value, and whether the distribution is uniform in the logarithm (else in the value).
RANGES = {"rate": (5.0, 800.0, True), "rtt": (5.0, 600.0, True), "loss": (0.0, 5.0, False), "queue": (0.1, 8.0, True),
          "jitter": (0.0, 10.0, False)}
LEVEL = 0.98        # "level": at least this part of the best peer's goodput ...
SHORT_QUEUE = 0.5   # ... with less than this part of its queueing delay


def draw(seed, lines=LINES):
    """Draws links. Each range has as many parts as there are links, and each part is used once (McKay 1979)."""
    dice = random.Random(seed)
    columns = {}
    for name, (low, high, by_factor) in RANGES.items():
        parts = [(i + dice.random()) / lines for i in range(lines)]
        dice.shuffle(parts)
        columns[name] = [low * (high / low) ** part if by_factor else low + (high - low) * part for part in parts]
    return [cells.Cell(round(columns["rate"][i], 1), round(columns["rtt"][i], 1), round(columns["loss"][i], 2),
                       round(columns["queue"][i], 2), faults=f"jitter={columns['jitter'][i]:.1f}ms")
            for i in range(lines)]


def judge(own, peers):
    """Returns "won", "level" or "lost" against the best of `peers`, and the ratio. Rows may lack figures."""
    known = [row for row in peers if row["goodput_mbps"]]
    if own is None or own["goodput_mbps"] is None or not known:
        return "no figure", None
    best = max(known, key=lambda row: row["goodput_mbps"])
    ratio = own["goodput_mbps"] / best["goodput_mbps"]
    if ratio >= 1.0:
        return "won", ratio
    waits = own["wait_ms"], best["wait_ms"]
    short = None not in waits and waits[0] < SHORT_QUEUE * waits[1]
    return "level" if ratio >= LEVEL and short else "lost", ratio


def table(rows, ours):
    """One row of figures per drawn link, and a summary of all."""
    by_line = {}
    for row in rows:
        by_line.setdefault(cells.key(row)[1:-1], {})[row["tool"]] = row
    names = list(dict.fromkeys(row["tool"] for row in rows))
    lines, counts, ratios = [], {}, []
    for (rate, rtt, loss, queue), by_tool in by_line.items():
        verdict, ratio = judge(by_tool.get(ours), [row for name, row in by_tool.items() if name != ours])
        counts[verdict] = counts.get(verdict, 0) + 1
        if ratio is not None:
            ratios.append(ratio)
        shown = [f"{figures.shown(by_tool[n]['goodput_mbps'])} ({figures.shown(by_tool[n]['wait_ms'])})" if n in by_tool
                 else "-" for n in names]
        faults = next(iter(by_tool.values())).get("faults") or ""
        lines.append([f"{rate:g}", f"{rtt:g}", f"{loss:g}", f"{queue:g}", faults, *shown, figures.shown(ratio, 3), verdict])
    summary = ", ".join(f"{verdict} {counts.get(verdict, 0)}" for verdict in ("won", "level", "lost", "no figure"))
    head = (f"Goodput from {cells.STEADY_AFTER:g} s on; in brackets the mean queueing delay. Level: at least {LEVEL:g} of the "
            f"best peer's goodput with less than {SHORT_QUEUE:g} of its queue.\n\n"
            f"{ours} on {len(lines)} lines: {summary}; median ratio to the best peer {figures.shown(figures.median(ratios), 3)}, "
            f"least {figures.shown(min(ratios, default=None), 3)}.\n\n")
    return head + figures.markdown(["Mbit/s", "RTT ms", "loss %", "queue BDP", "faults",
                                    *[f"{n} Mbit/s (wait ms)" for n in names], f"{ours} to the best", ""], lines)


if __name__ == "__main__":  # drawn.py SEED LINES: Mbit/s, RTT ms, loss %, queue BDP and jitter ms of each link
    for cell in draw(int(sys.argv[1]), int(sys.argv[2])):
        print(cell.rate, cell.rtt, cell.loss, cell.queue, cell.faults.removeprefix("jitter=").removesuffix("ms"))
