"""Tables and figures of the multipath papers' cells. A result is the output of udtx-papers-paths with the added keys
`cell`, `way` and `stem`."""
import os
from statistics import fmean

import chart
import table
import tables

# The papers' values, in the order of our tables' columns.
TSM_PAPER = {"rr": (12.29, 255, 2643, 149, 2446, 90, 2874), "rr, reinjection": (15.09, 135, 1316, 15, 347, 4, 423),
             "minrtt": (13.23, 264, 2324, 173, 1774, 109, 2601), "minrtt, reinjection": (15.17, 117, 693, 16, 289, 3, 163)}
DAPB_PAPER = {"rr": (58.0, 19.5), "minrtt": (64.6, 38.9), "dapb": (68.7, None)}
RAMPS = ((20, 40), (60, 80))
CHANGES = (20, 30, 40, 60, 70, 80)


class Results:
    def __init__(self, runs):
        self.runs = {}
        for run in runs:
            self.runs.setdefault((run["cell"], run["way"]), []).append(run)

    def of(self, cell, way):
        return self.runs.get((cell, way), [])

    def mean(self, cell, way, key):
        values = [run[key] for run in self.of(cell, way)]
        return fmean(values) if values else None


def cells_of(chosen, experiment, figure=None):
    return [c for c in chosen if c.experiment == experiment and figure in (None, c.figure)]


def tsm_table(cell, results):
    header = ["scheduler", "Mbit/s", "on the link", "of what the links leave", "paper, Mbit/s",
              "send queue: mean, max", "paper", "receive queue: mean, max", "paper", "reordering, ms: mean, max", "paper",
              "copies", "copied bytes, %"]
    rows = []
    for way, _ in cell.ways:
        get = lambda key, digits=0, way=way: tables.number(results.mean(cell, way, key), digits)
        paper = TSM_PAPER.get(way)
        pair = lambda i, paper=paper: f"{paper[i]}, {paper[i + 1]}" if paper else "-"
        share = tables.ratio(results.mean(cell, way, "mbps"), results.mean(cell, way, "left_mbps"))
        copied = results.mean(cell, way, "reinjected_share")
        rows.append([way, get("mbps", 2), get("line_mbps", 2), tables.number(share, 3), f"{paper[0]}" if paper else "-",
                     f"{get('send_queue_mean')}, {get('send_queue_max')}", pair(1),
                     f"{get('receive_queue_mean', 1)}, {get('receive_queue_max')}", pair(3),
                     f"{get('reorder_mean_ms', 1)}, {get('reorder_max_ms')}", pair(5), get("reinjected_packets"),
                     tables.number(None if copied is None else 100 * copied, 1)])
    return tables.markdown(header, rows)


def steps_table(cells, results, label):
    ways = [way for way, _ in cells[0].ways]
    rows = [[c.name, *(tables.number(results.mean(c, way, "mbps"), 1) for way in ways)] for c in cells]
    return tables.markdown([label, *ways], rows)


def in_ramps(run):
    return fmean(run["seconds"][s] for a, b in RAMPS for s in range(a, b))


def worst_second(run):
    """The lowest rate of a second, without the first two seconds and the seconds that start with a change."""
    return min(mbps for s, mbps in enumerate(run["seconds"]) if s > 1 and s not in CHANGES)


def ramp_table(cell, single, results):
    header = ["scheduler", "Mbit/s", "paper", "in the ramps", "paper", "worst second", "one link alone", "copied bytes, %"]
    rows = []
    for way, _ in cell.ways:
        runs = results.of(cell, way)
        if not runs:
            continue
        paper = DAPB_PAPER.get(way, (None, None))
        alone = results.mean(single, way if way == "eds, udtx" else "eds", "mbps") if single else None
        rows.append([way, tables.number(results.mean(cell, way, "mbps"), 1), tables.number(paper[0], 1),
                     tables.number(fmean(map(in_ramps, runs)), 1), tables.number(paper[1], 1),
                     tables.number(min(map(worst_second, runs)), 1), tables.number(alone, 1),
                     tables.number(100 * results.mean(cell, way, "reinjected_share"), 1)])
    return tables.markdown(header, rows)


def gain(cell, results):
    """Gain of goodput by the rule, per cent."""
    share = tables.ratio(results.mean(cell, "with", "mbps"), results.mean(cell, "without", "mbps"))
    return None if share is None else 100 * (share - 1)


SCTP_ROWS = [("gain, % (figure 7)", None), ("taken for alive while damaged, without (figure 8)", ("without", "revivals")),
             ("the same, with", ("with", "revivals")), ("suspensions, without (figure 9)", ("without", "suspensions")),
             ("the same, with", ("with", "suspensions")),
             ("window when the errors end, packets, without (figure 10)", ("without", "window_after")),
             ("the same, with", ("with", "window_after"))]


def sctp_tables(cells, results):
    text = []
    rates = sorted({c.x for c in cells})
    lengths = list(dict.fromkeys(c.name.split(",")[0] for c in cells))
    by = {(c.name.split(",")[0], c.x): c for c in cells}
    for title, source in SCTP_ROWS:
        rows = []
        for length in lengths:
            row = [length]
            for rate in rates:
                cell = by.get((length, rate))
                value = None if cell is None else gain(cell, results) if source is None else results.mean(cell, *source)
                row.append(tables.number(value, 1))
            rows.append(row)
        text.append(f"{title}; packet errors in %:\n\n"
                    + tables.markdown(["errors last", *(f"{rate}" for rate in rates)], rows))
    return "\n".join(text)


def report(chosen, results, seeds):
    results = Results(results)
    text = [f"## Several paths\n\nMeans of {seeds} seed(s).\n"]
    for cell in cells_of(chosen, "tsm"):
        text.append("### Transmission status monitoring: figures 7 and 8, tables 2 to 4\n\n" + tsm_table(cell, results))
    for figure, label, title in (("8", "second link", "bandwidth"), ("9", "second link", "delay")):
        cells = cells_of(chosen, "dapb", figure)
        if cells:
            text.append(f"### Path blocking: figure {figure}, difference of {title}, Mbit/s\n\n"
                        + steps_table(cells, results, label))
    ramps = cells_of(chosen, "dapb", "10")
    if ramps:
        text.append("### Path blocking: figure 10, ramps to 2,000 ms\n\n"
                    + ramp_table(ramps[0], ramps[1] if len(ramps) > 1 else None, results))
    cells = cells_of(chosen, "sctp")
    if cells:
        text.append("### SCTP: figures 7 to 10, with and without the rule\n\n" + sctp_tables(cells, results))
    return "\n".join(text)


def column(run, name):
    return table.column(run["stem"] + ".samples.csv", name)


def over_time(run, title, y, names):
    xs = column(run, "time_s")
    return chart.Panel(title, "time, s", y, [chart.Series(label, xs, column(run, name)) for label, name in names],
                       y_range=(0.0, None))


def tsm_panels(runs):
    panels = [over_time(run, f"{way}: throughput", "Mbit/s",
                        [("path 1", "mbps1"), ("path 2", "mbps2"), ("in order", "goodput")])
              for way, run in runs.items()]
    for title, y, name in (("send queue", "packets", "send_queue"), ("receive queue", "packets", "receive_queue"),
                           ("TransmitTimes of path 1", "", "transmit_times1"),
                           ("copies sent over path 1", "packets", "reinjected1")):
        series = [over_time(run, "", "", [(way, name)]).series[0] for way, run in runs.items()]
        panels.append(chart.Panel(title, "time, s", y, series, y_range=(0.0, None)))
    return panels


def ramp_panels(runs):
    return [over_time(run, way, "Mbit/s", [("path 1", "mbps1"), ("path 2", "mbps2"), ("in order", "goodput")])
            for way, run in runs.items()]


def steps_panel(cells, results, title, x):
    series = [chart.Series(way, [c.x for c in cells], [results.mean(c, way, "mbps") for c in cells])
              for way, _ in cells[0].ways]
    return chart.Panel(title, x, "Mbit/s", series, y_range=(0.0, None))


def sctp_panel(cells, results):
    series = []
    for length in dict.fromkeys(c.name.split(",")[0] for c in cells):
        own = [c for c in cells if c.name.startswith(length + ",")]
        series.append(chart.Series(length, [c.x for c in own], [gain(c, results) for c in own]))
    return chart.Panel("gain of the rule", "packet errors, %", "%", series)


def draw(out, chosen, results):
    """Writes the figures and returns their paths."""
    every = Results(results)
    figures = {}
    for cell in chosen:
        if not cell.samples:
            continue
        runs = {way: every.of(cell, way)[0] for way, _ in cell.ways if every.of(cell, way)}
        figures[cell.slug] = tsm_panels(runs) if cell.experiment == "tsm" else ramp_panels(runs)
    steps = [("8", "difference of bandwidth", "second line, Mbit/s"), ("9", "difference of delay", "second line's RTT, ms")]
    for figure, title, x in steps:
        cells = cells_of(chosen, "dapb", figure)
        if cells:
            figures[f"dapb-{figure}"] = [steps_panel(cells, every, title, x)]
    cells = cells_of(chosen, "sctp")
    if cells:
        figures["sctp-7"] = [sctp_panel(cells, every)]
    paths = []
    for slug, panels in figures.items():
        paths.append(os.path.join(out, f"figure-{slug}.svg"))
        with open(paths[-1], "w", encoding="utf-8") as file:
            file.write(chart.figure(panels))
    return paths
