"""Means over seeds, the tables in Markdown, and checks of the paper's claims."""
import csv
from statistics import fmean

import cells

PAPER_GAIN = 2.17  # "+117 % fairness" read as a ratio of deviations from the fair share
EQUAL = 0.03       # single-flow throughput counts as equal within this
FAIR = 0.98
SETTLE_S = 0.5     # seconds left out after the cross traffic switches on or off


def cross_is_on(time_s):
    """Whether the cross traffic is on; None before the first burst and in the SETTLE_S seconds after a switch."""
    phase = (time_s - cells.CROSS_FROM_S) % cells.CROSS_PERIOD_S
    if time_s < cells.CROSS_FROM_S or phase % cells.CROSS_ON_S < SETTLE_S:
        return None
    return phase < cells.CROSS_ON_S


def mtr_means(samples_csv):
    """Means of the packet pairs' estimate and of the controller's MTR, each while the cross traffic is on and while
    off."""
    values = {(what, on): [] for what in ("pair", "mtr") for on in (True, False)}
    with open(samples_csv, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            on = cross_is_on(float(row["time_s"]))
            if on is not None:
                for what in ("pair", "mtr"):
                    values[what, on].append(float(row[what + "1"]))
    return {f"mtr_{what}_{'on' if on else 'off'}": fmean(v) for (what, on), v in values.items() if v}


class Results:
    def __init__(self, runs):
        self.by_cell = {}
        for run in runs:
            self.by_cell.setdefault((run["cell"], run["controller"]), []).append(run)

    def mean(self, cell, controller, key):
        """Mean over the seeds; None if a seed has no value or the controller did not run."""
        values = [run.get(key) for run in self.by_cell.get((cell, controller), [])]
        return None if not values or None in values else fmean(values)


def number(value, digits):
    return "-" if value is None else f"{value:.{digits}f}"


def ratio(over, under):
    return over / under if over is not None and under else None


def gain(results, cell, better="cd", base="udt", key="mean_deviation"):
    """Deviation of the shares from the fair share under `base` over that under `better`."""
    return ratio(results.mean(cell, base, key), results.mean(cell, better, key))


def unfairness_removed(results, cell):
    """(J_cd - J_udt) / (1 - J_udt): the part of udt's unfairness that cd removes; negative if cd is less fair."""
    udt, cd = results.mean(cell, "udt", "mean_jain"), results.mean(cell, "cd", "mean_jain")
    return None if udt is None or cd is None or udt >= 1.0 else (cd - udt) / (1.0 - udt)


def markdown(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def triple(results, cell, controllers, key, digits):
    return " / ".join(number(results.mean(cell, name, key), digits) for name in controllers)


def mtr_table(chosen, controllers, results):
    names = " / ".join(controllers)
    header = ["B-C", "queue", "pairs while cross traffic is on (paper: 50)", f"MTR while on: {names}",
              f"MTR while off: {names}", f"Mbit/s: {names}", f"losses, all: {names}", "from 10 s", "20-30 s",
              f"queue, ms: {names}"]
    rows = [[*c.labels, number(results.mean(c, "udt", "mtr_pair_on"), 1),
             triple(results, c, controllers, "mtr_mtr_on", 1), triple(results, c, controllers, "mtr_mtr_off", 1),
             triple(results, c, controllers, "steady_mbps", 1), triple(results, c, controllers, "dropped", 0),
             triple(results, c, controllers, "dropped_from_10", 0),
             triple(results, c, controllers, "dropped_20_30", 0), triple(results, c, controllers, "queue_ms", 0)]
            for c in chosen]
    return markdown(header, rows)


def throughput_table(chosen, controllers, results):
    names = " / ".join(controllers)
    header = ["B-C", "queue", f"Mbit/s: {names}", "cd over udt (paper: equal)", f"losses, all: {names}", "from 10 s",
              f"queue, ms: {names}"]
    rows = [[*c.labels, triple(results, c, controllers, "throughput_mbps", 1),
             number(ratio(results.mean(c, "cd", "throughput_mbps"), results.mean(c, "udt", "throughput_mbps")), 3),
             triple(results, c, controllers, "dropped", 0), triple(results, c, controllers, "dropped_from_10", 0),
             triple(results, c, controllers, "queue_ms", 0)] for c in chosen]
    return markdown(header, rows)


def fairness_table(chosen, controllers, results):
    names = " / ".join(controllers)
    header = ["B-C", "queue", "cross", f"Jain 10-30 s: {names}", f"min/max: {names}", f"deviation: {names}",
              "udt over cd (paper, 100 ms: 2.17)", "unfairness removed by cd", f"Mbit/s: {names}",
              f"losses, all: {names}", "from 10 s", f"queue, ms: {names}"]
    rows = []
    for c in chosen:
        removed = unfairness_removed(results, c)
        rows.append([*c.labels, triple(results, c, controllers, "mean_jain", 3),
                     triple(results, c, controllers, "mean_min_max", 2),
                     triple(results, c, controllers, "mean_deviation", 3), number(gain(results, c), 2),
                     "-" if removed is None else f"{100 * removed:+.0f} %",
                     triple(results, c, controllers, "steady_mbps", 1), triple(results, c, controllers, "dropped", 0),
                     triple(results, c, controllers, "dropped_from_10", 0),
                     triple(results, c, controllers, "queue_ms", 0)])
    return markdown(header, rows)


def join_table(chosen, controllers, results):
    names = " / ".join(controllers)
    header = ["RTT", "flows", "queue", f"Jain 5-10 s after the last join: {names}", f"min/max: {names}",
              f"s until a second has 0.98: {names}", f"Mbit/s: {names}", f"losses 5-10 s: {names}",
              f"queue, ms: {names}"]
    rows = [[*c.labels, triple(results, c, controllers, "joined_jain", 3),
             triple(results, c, controllers, "joined_min_max", 2), triple(results, c, controllers, "fair_after_s", 0),
             triple(results, c, controllers, "joined_mbps", 1), triple(results, c, controllers, "dropped_joined", 0),
             triple(results, c, controllers, "queue_ms", 0)] for c in chosen]
    return markdown(header, rows)


def count(cells_met, of):
    return f"{len(cells_met)} of {len(of)} cells"


def except_for(missed):
    return "" if not missed else "; not in " + "; ".join(c.name for c in missed)


def paper_checks(chosen, results):
    """Sentences that say which claims of the paper hold, and in how many cells."""
    both = [c for c in chosen if c.experiment != "join" and results.mean(c, "udt", "dropped") is not None
            and results.mean(c, "cd", "dropped") is not None]
    lines = []
    for key, when in (("dropped", "in the whole run"), ("dropped_from_10", "from 10 s on, slow start left out")):
        less = [c for c in both if results.mean(c, "cd", key) < results.mean(c, "udt", key)]
        same = [c for c in both if results.mean(c, "cd", key) == results.mean(c, "udt", key)]
        lines.append(f"`cd` loses less than `udt` {when}: {count(less, both)}, as much in {len(same)}, more in "
                     f"{len(both) - len(less) - len(same)}.")
    single = [c for c in both if c.experiment in ("mtr", "throughput")]
    off = [c for c in single
           if abs(ratio(results.mean(c, "cd", "throughput_mbps"), results.mean(c, "udt", "throughput_mbps")) - 1) > EQUAL]
    if single:
        lines.append(f"A single flow is as fast under `cd` as under `udt` within {EQUAL:.0%}: "
                     f"{count([c for c in single if c not in off], single)}{except_for(off)}.")
    shared = [c for c in both if c.experiment == "fairness"]
    fairer = [c for c in shared if results.mean(c, "cd", "mean_jain") > results.mean(c, "udt", "mean_jain")]
    reached = [c for c in shared if (gain(results, c) or 0.0) >= PAPER_GAIN]
    if shared:
        best = max(shared, key=lambda c: gain(results, c) or 0.0)
        lines.append(f"`cd` has the higher Jain index: {count(fairer, shared)}.")
        lines.append(f"+117 % (deviation of `udt` over that of `cd` {PAPER_GAIN} or more): {count(reached, shared)}"
                     f"{': ' + '; '.join(c.name for c in reached) if reached else ''}. "
                     f"Highest: {gain(results, best):.2f} in {best.name}.")
    return lines


def join_checks(chosen, controllers, results):
    joins = [c for c in chosen if c.experiment == "join"]
    lines = []
    for name in controllers if joins else []:
        missed = [c for c in joins if (results.mean(c, name, "joined_jain") or 0.0) < FAIR]
        met = [c for c in joins if c not in missed]
        lines.append(f"`{name}` has Jain {FAIR} or better 5-10 s after the last join: {count(met, joins)}"
                     f"{except_for(missed)}.")
    return lines


SECTIONS = [("mtr", "Figures 3 and 7: one flow, cross traffic 50 Mbit/s on and off", mtr_table),
            ("throughput", "Figure 8: one flow, cross traffic", throughput_table),
            ("fairness", "Figure 9: three flows, 5 s apart", fairness_table),
            ("join", "How soon flows that join are treated alike", join_table)]


def report(chosen, controllers, runs, seeds):
    results = Results(runs)
    parts = [f"Means over {seeds} seed(s). Line 100 Mbit/s; losses are packets dropped in the queues.\n"]
    for experiment, title, table in SECTIONS:
        rows = [c for c in chosen if c.experiment == experiment]
        if rows:
            parts.append(f"## {title}\n\n{table(rows, controllers, results)}")
    checks = paper_checks(chosen, results) if {"udt", "cd"} <= set(controllers) else []
    checks += join_checks(chosen, controllers, results)
    parts.append("## What holds\n\n" + "".join(f"- {line}\n" for line in checks))
    return "\n".join(parts)


def sweep_report(chosen, pairs, plain, swept, seeds):
    """One row per pair of thresholds, with means and extremes over the fairness cells."""
    base = Results(plain)
    header = ["alpha", "beta", "Jain, mean over cells", "cells with a higher one than udt",
              "deviation udt over cd: least", "mean", "most", "losses from 10 s over udt's"]
    jain = fmean(base.mean(c, "udt", "mean_jain") for c in chosen)
    rows = [["udt", "", number(jain, 3), "", "", "", "", ""]]
    for thresholds in pairs:
        both = Results(plain + [run for run in swept if run["thresholds"] == thresholds])
        gains = [gain(both, c) for c in chosen]
        fairer = [c for c in chosen if both.mean(c, "cd", "mean_jain") > both.mean(c, "udt", "mean_jain")]
        losses = [sum(both.mean(c, name, "dropped_from_10") for c in chosen) for name in ("cd", "udt")]
        rows.append([f"{thresholds[0]:.1f}", f"{thresholds[1]:.1f}",
                     number(fmean(both.mean(c, "cd", "mean_jain") for c in chosen), 3), count(fairer, chosen),
                     number(min(gains), 2), number(fmean(gains), 2), number(max(gains), 2),
                     number(ratio(*losses), 2)])
    return (f"Thresholds of `cd` over {len(chosen)} cells of figure 9, means over {seeds} seed(s).\n\n"
            + markdown(header, rows))
