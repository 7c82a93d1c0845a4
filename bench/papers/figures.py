"""Draws the paper's figures from the samples of seed 1 (needs bench/plot on the path)."""
import os

import chart
import table

MARK = {"mtr": "3-7", "throughput": "8", "fairness": "9", "join": "join"}


def column(run, kind, name):
    return table.column(f"{run['stem']}.{kind}.csv", name)


def over_samples(run, title, y, name, label, y_range=(0.0, None), style="line"):
    xs = column(run, "samples", "time_s")
    return chart.Panel(title, "time, s", y, [chart.Series(label, xs, column(run, "samples", name), style)],
                       y_range=y_range)


def mtr_figure(runs):
    """Panels of figure 3 (a), then for each controller figures 3 (b), 3 (c) and 7."""
    first = next(iter(runs.values()))
    panels = [over_samples(first, "MTR estimated by the receiver (newest pair)", "Mbit/s", "pair1", "1/D", (0.0, 120.0))]
    for name, run in runs.items():
        panels.append(over_samples(run, f"{name}: MTR of the sender", "Mbit/s", "mtr1", name, (0.0, 120.0)))
        panels.append(over_samples(run, f"{name}: losses in 10 ms", "packets", "dropped1", name, style="step"))
    return panels


def by_second(run, title, names):
    xs = column(run, "seconds", "time_s")
    series = [chart.Series(label, xs, column(run, "seconds", column_name), "line") for label, column_name in names]
    return chart.Panel(title, "time, s", "Mbit/s", series, y_range=(0.0, 100.0))


def queue_panel(runs):
    series = [chart.Series(name, column(run, "samples", "time_s"), column(run, "samples", "queue_ms"))
              for name, run in runs.items()]
    return chart.Panel("queue of the link", "time, s", "ms", series)


def throughput_figure(runs):
    first = next(iter(runs.values()))
    panel = by_second(first, "throughput", [])
    for name, run in runs.items():
        panel.series += by_second(run, "", [(name, "flow1")]).series
    return [panel, queue_panel(runs)]


def shares_figure(runs):
    panels, indices = [], []
    for name, run in runs.items():
        names, _ = table.read(run["stem"] + ".seconds.csv")
        flows = [(f"flow {n[4:]}", n) for n in names if n.startswith("flow")]
        panels.append(by_second(run, name, flows))
        indices.append(chart.Series(name, column(run, "seconds", "time_s"), column(run, "seconds", "jain")))
    panels.append(chart.Panel("Jain's index of the flows that have joined", "time, s", "", indices, y_range=(0.0, 1.0)))
    return panels + [queue_panel(runs)]


DRAW = {"mtr": mtr_figure, "throughput": throughput_figure, "fairness": shares_figure, "join": shares_figure}


def draw(out, chosen, controllers, results):
    """Writes one SVG file per cell and returns their paths."""
    paths = []
    for cell in chosen:
        runs = {r["controller"]: r for r in results if r["cell"] == cell and r["seed"] == 1}
        runs = {name: runs[name] for name in controllers if name in runs}
        if not runs:
            continue
        path = os.path.join(out, f"figure-{MARK[cell.experiment]}-{cell.slug.split('-', 1)[1]}.svg")
        with open(path, "w", encoding="utf-8") as file:
            file.write(chart.figure(DRAW[cell.experiment](runs)))
        paths.append(path)
    return paths
