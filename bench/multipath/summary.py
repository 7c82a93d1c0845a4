"""Rows, table and plots of the experiments."""
import re

import figures
import report
from experiments import NEVER
from report import chart

PEERS = ("mptcp", "mpquic", "tcp")


def mbps_of(spec):
    """The rate at the beginning of a link's settings."""
    return float(re.match(r"rate=([\d.]+)M,", spec.settings)[1])


def rows(experiment, name, seed, values, copies, load):
    return [{"experiment": experiment.name, "figure": figure.label, "entrant": name, "run": seed, "value": value,
             "copies": copies, "load": load} for figure, value in zip(experiment.judged_by, values)]


def table(every_row, experiments, names):
    """One row per figure: the medians, the goal, and udtx compared with the best of the others."""
    lines = []
    for experiment in experiments:
        for figure in experiment.judged_by:
            mine = [r for r in every_row if (r["experiment"], r["figure"]) == (experiment.name, figure.label)]
            medians = {n: figures.median([r["value"] for r in mine if r["entrant"] == n]) for n in names}
            own = medians.get("udtx")
            met = figure.met(own, medians)
            lines.append([experiment.title, figure.label, *[shown(medians[n], figure) for n in names],
                          goal_text(figure, medians), "" if met is None else "yes" if met else "no",
                          figures.shown(ratio(figure, own, [medians[n] for n in names if n in PEERS]), 2),
                          figures.shown(figures.median([r["copies"] for r in mine if r["entrant"] == "udtx"])),
                          loads(mine)])
    runs = sorted({int(row["run"]) for row in every_row})
    note = f"Median of up to {runs[-1]} run(s). alone, tcp: our tool and TCP CUBIC over the best path alone. To the best peer: " \
           "above 1 ours is better. Copies: bytes that udtx sent while they were in flight on another path.\n\n"
    return note + figures.markdown(["experiment", "figure", *names, "goal", "met", "to the best peer",
                                     "copies %", "load"], lines)


def shown(value, figure):
    never = value is not None and not figure.higher and value >= NEVER
    return "never" if never else figures.shown(value, figure.digits)


def goal_text(figure, medians):
    bound = figure.bound(medians)
    return "" if bound is None else ("" if figure.higher else "<= ") + figures.shown(bound, figure.digits)


def ratio(figure, own, peers):
    known = [p for p in peers if p is not None]
    if own is None or not known or figure.digits == 0:
        return None
    if figure.higher:
        return figures.ratio_to_best(own, known)
    return min(known) / own if own > 0 and min(known) < NEVER else None


def loads(some_rows):
    values = [row["load"] for row in some_rows]
    return f"{min(values):.1f}-{max(values):.1f}" if values else "-"


def plot(experiment, runs):
    """Panels: the goodput of all entrants, then for each multipath entrant the rate that each path delivered."""
    end, step = experiment.seconds, 0.25
    panels = [chart.Panel(experiment.title, "s", "goodput, Mbit/s", [
        report.curve(name, figures.series(run.samples, 0.0, end, step)) for name, run in runs.items()])]
    for name, run in runs.items():
        if len(run.paths) > 1:
            panels.append(chart.Panel(f"{name}: out of each path", "s", "Mbit/s", [
                report.curve(f"path {i}", figures.series(columns["delivered_bytes"], 0.0, end, step))
                for i, columns in enumerate(run.paths, 1)], (0.0, end)))
    return panels
