"""Tables, CSV and plots of a run."""
import csv
import os
import re
import sys

import figures

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "plot"))
import chart  # noqa: E402


class Output:
    """The directory for all results. Tables are also printed on standard output."""

    def __init__(self, directory):
        self.directory = directory
        os.makedirs(directory, exist_ok=True)

    def path(self, name):
        return os.path.join(self.directory, name)

    def rows(self, name, rows):
        if not rows:
            return
        with open(self.path(name), "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)

    def read_rows(self, name):
        """The rows that rows() wrote; empty if the file is missing."""
        try:
            with open(self.path(name), newline="", encoding="utf-8") as file:
                return [{k: figures.value(v) for k, v in row.items()} for row in csv.DictReader(file)]
        except FileNotFoundError:
            return []

    def table(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        print(text, flush=True)

    def plot(self, name, panels):
        safe = re.sub(r"[^A-Za-z0-9.]+", "-", name)
        with open(self.path(safe), "w", encoding="utf-8") as file:
            file.write(chart.figure(panels))


def curve(label, points):
    return chart.Series(label, [x for x, _ in points], [y for _, y in points])


def queue_panel(queues):
    """queues: {tool: [(s, bytes)]}"""
    return chart.Panel("queue", "s", "kB", [curve(t, [(x, y / 1e3) for x, y in points]) for t, points in queues.items()])


def cell_plot(cell, curves, queues):
    """curves: {tool: [(s, Mbit/s)]}"""
    return [chart.Panel(cell.named(), "s", "goodput, Mbit/s", [curve(t, points) for t, points in curves.items()]),
            queue_panel(queues)]


def share_plot(name, lines, queue):
    """lines: [(flow, [(s, Mbit/s)])], all at the same times; queue: [(s, bytes)]"""
    totals = [sum(y for _, y in points) for points in zip(*(points for _, points in lines))]
    shares = [(label, [(x, 100.0 * y / total) for (x, y), total in zip(points, totals) if total > 0])
              for label, points in lines]
    return [chart.Panel(name, "s", "goodput, Mbit/s", [curve(label, points) for label, points in lines]),
            chart.Panel("share of each flow", "s", "%", [curve(label, points) for label, points in shares]),
            queue_panel({"queue": queue})]


def matrix_table(rows, names, runs, is_ours):
    """Medians per tool and cell, and the ratio of udtx to the best of the others."""
    by_cell = {}
    for row in rows:
        key = (row["rate"], row["rtt"], row["loss"], row["queue"])
        by_cell.setdefault(key, {}).setdefault(row["tool"], []).append(row)
    ours = [name for name in names if is_ours(name)]
    peers = [name for name in names if not is_ours(name)]
    headings = ["Mbit/s", "RTT ms", "loss %", "queue BDP", *[f"{n} Mbit/s (wait ms)" for n in names],
                *[f"{n}: of the link" for n in ours], *[f"{n}: to the best peer" for n in ours], "load"]
    lines = []
    for (rate, rtt, loss, queue), by_tool in by_cell.items():
        goodput = {n: figures.median([r["goodput_mbps"] for r in by_tool.get(n, [])]) for n in names}
        wait = {n: figures.median([r["wait_ms"] for r in by_tool.get(n, [])]) for n in names}
        line = [f"{rate:g}", f"{rtt:g}", f"{loss:g}", f"{queue:g}"]
        line += [f"{figures.shown(goodput[n])} ({figures.shown(wait[n])})" for n in names]
        possible = rate * (1.0 - loss / 100.0)
        line += [figures.share(goodput[n], possible) for n in ours]
        line += [figures.shown(figures.ratio_to_best(goodput[n], [goodput[p] for p in peers]), 2) for n in ours]
        loads = [r["load"] for results in by_tool.values() for r in results]
        lines.append(line + [f"{min(loads):.1f}-{max(loads):.1f}"])
    note = f"Goodput from 5 s on, median of {runs} run(s); in brackets the mean queueing delay. Of the line: " \
           "goodput / (rate x (1 - loss)).\n\n"
    return note + figures.markdown(headings, lines)


def asymmetric_table(rows):
    """Medians per tool and per rate and loss of the return path."""
    names = list(dict.fromkeys(row["tool"] for row in rows))
    lines = []
    for back, loss in dict.fromkeys((row["back_kbps"], row["back_loss"]) for row in rows):
        of = [row for row in rows if (row["back_kbps"], row["back_loss"]) == (back, loss)]
        line = [f"1:{of[0]['rate'] * 1e3 / back:,.0f}", f"{back:g}", f"{loss:g}"]
        line += [figures.shown(figures.median([r["goodput_mbps"] for r in of if r["tool"] == n])) for n in names]
        loads = [r["load"] for r in of]
        lines.append(line + [max(r["run"] for r in of), f"{min(loads):.1f}-{max(loads):.1f}"])
    return "Goodput, Mbit/s, median of the runs.\n\n" + figures.markdown(
        ["reverse path", "kbit/s", "loss %", *names, "runs", "load"], lines)


def transfer_table(rows, names, runs, size, limit):
    by_key = {}
    for row in rows:
        key = (row["rate"], row["rtt"], row["loss"], row["queue"])
        by_key.setdefault(key, {}).setdefault(row["tool"], []).append(row)
    lines = []
    for (rate, rtt, loss, queue), by_tool in by_key.items():
        line = [f"{rate:g}", f"{rtt:g}", f"{loss:g}", f"{queue:g}"]
        for name in names:
            results = [r["seconds"] for r in by_tool.get(name, [])]
            late = sum(1 for seconds in results if seconds is None)
            line.append(f"> {limit:g}" if late > len(results) / 2 else figures.shown(figures.median(
                [limit if seconds is None else seconds for seconds in results]), 2))
        loads = [r["load"] for results in by_tool.values() for r in results]
        lines.append(line + [f"{min(loads):.1f}-{max(loads):.1f}"])
    note = f"Seconds for {size / 1e6:g} MB with the handshake, median of {runs} run(s).\n\n"
    return note + figures.markdown(["Mbit/s", "RTT ms", "loss %", "queue BDP", *names, "load"], lines)


def fairness_table(rows):
    keys = [("scenario", None), ("tools", None), ("jain", 3), ("min_max", 2), ("first_share", 2), ("total_mbps", 1),
            ("wait_ms", 1), ("settled_s", 0), ("ended_early", None), ("load", 1)]
    headings = ["scenario", "flows", "Jain", "min/max", "share of the first", "sum Mbit/s", "wait ms", "settled after s",
                "ended early", "load"]
    return figures.markdown(headings, [[row[k] if digits is None else figures.shown(row[k], digits)
                                        for k, digits in keys] for row in rows])
