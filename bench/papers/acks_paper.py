"""Cells, tables and figures of the dynamic ACK regeneration paper. A result is the output of udtx-papers-acks. The
figures need bench/plot on the path."""
from dataclasses import dataclass
from statistics import fmean

import chart
import tables

SCHEMES = {"normal": "Normal", "ar": "AF/AR", "dar": "AF/DAR", "udtx": "udtx"}
UPLINKS = (8, 16, 24)           # kbit/s
BIT_ERRORS = (0.0, 1e-7, 1e-6)
RUNS = 50
DOWN = 3.5                      # Mbit/s; the paper's value is lost
SWEEP = (2, 3, DOWN, 4, 5)
FIGURE_5 = (8, 1e-7)
PAPER = {True: ("+66 to +232 %", "+0.1 to +0.2 %"), False: ("+21 to +204 %", "+5 to +26 %")}  # without errors, with


@dataclass(frozen=True)
class Cell:
    uplink: float
    errors: float
    down: float = DOWN

    @property
    def slug(self):
        return f"acks-{self.down:g}M-{self.uplink:g}k-{self.errors:g}"

    @property
    def args(self):
        return ("--down-mbps", f"{self.down:g}", "--up-kbps", f"{self.uplink:g}", "--bit-errors", f"{self.errors:g}")


def all_cells(down=DOWN):
    return [Cell(uplink, errors, down) for errors in BIT_ERRORS for uplink in UPLINKS]


def sweep_cells():
    return [cell for down in SWEEP for cell in all_cells(down)]


def quick_cells():
    return [Cell(*FIGURE_5)]


class Results:
    def __init__(self, runs):
        self.by_cell = {}
        for run in runs:
            self.by_cell.setdefault((Cell(run["up_kbps"], run["bit_errors"], run["down_mbps"]), run["scheme"]), []).append(run)

    def mean(self, cell, scheme, key="goodput_kbps"):
        return fmean(run[key] for run in self.by_cell[cell, scheme])

    def gain(self, cell, scheme, over):
        """Gain of `scheme` over the scheme `over`, per cent."""
        return 100.0 * (self.mean(cell, scheme) / self.mean(cell, over) - 1.0)

    def typical(self, cell, scheme):
        """The run whose goodput is nearest to the mean."""
        mean = self.mean(cell, scheme)
        return min(self.by_cell[cell, scheme], key=lambda run: abs(run["goodput_kbps"] - mean))


def goodput_table(chosen, results):
    header = ["uplink, kbit/s", "bit errors", *SCHEMES.values(), "AR over Normal", "DAR over Normal", "paper",
              "DAR over AR", "paper"]
    rows = []
    for cell in chosen:
        over_normal, over_ar = PAPER[cell.errors == 0.0]
        rows.append([f"{cell.uplink:g}", f"{cell.errors:g}", *(f"{results.mean(cell, s):.0f}" for s in SCHEMES),
                     f"{results.gain(cell, 'ar', 'normal'):+.0f} %", f"{results.gain(cell, 'dar', 'normal'):+.0f} %",
                     over_normal, f"{results.gain(cell, 'dar', 'ar'):+.1f} %", over_ar])
    return tables.markdown(header, rows)


def traffic_table(chosen, results):
    header = ["uplink, kbit/s", "bit errors", "AR: ACKs", "of those made", "behind a higher one", "DAR: ACKs",
              "of those made", "behind a higher one"]
    keys = [(scheme, key) for scheme in ("ar", "dar") for key in ("acks", "made", "overtaken")]
    rows = [[f"{c.uplink:g}", f"{c.errors:g}", *(f"{results.mean(c, *k):.0f}" for k in keys)] for c in chosen]
    return tables.markdown(header, rows)


def report(chosen, results, runs):
    results = Results(results)
    return (f"## ACK regeneration\n\nMeans of {runs} run(s). Figure 4, goodput in kbit/s; the paper gives ranges over the "
            f"uplinks:\n\n{goodput_table(chosen, results)}\nACKs that reach the sender in a run:\n\n"
            f"{traffic_table(chosen, results)}")


def sweep_report(results, runs):
    """One row per downlink rate and bit error rate, with the gains at the three uplinks."""
    results = Results(results)
    uplinks = ", ".join(f"{uplink:g}" for uplink in UPLINKS)
    header = ["down, Mbit/s", "bit errors", f"DAR over Normal, %, at {uplinks} kbit/s", "paper", "DAR over AR, %", "paper"]
    rows = []
    for down in SWEEP:
        for errors in BIT_ERRORS:
            cells = [Cell(uplink, errors, down) for uplink in UPLINKS]
            over_normal = ", ".join(f"{results.gain(c, 'dar', 'normal'):+.0f}" for c in cells)
            over_ar = ", ".join(f"{results.gain(c, 'dar', 'ar'):+.1f}" for c in cells)
            normal, ar = PAPER[errors == 0.0]
            rows.append([f"{down:g}", f"{errors:g}", over_normal, normal, over_ar, ar])
    return f"Rates of the forward path, means of {runs} run(s).\n\n{tables.markdown(header, rows)}"


def draw(out, chosen, results):
    """Writes figures 4 and 5 and returns their paths. Figure 5 shows the ACKs per second that reach the sender, in the
    run nearest to the mean."""
    results = Results(results)
    bars = [chart.Bars(f"bit errors {errors:g}", "kbit/s", [f"{c.uplink:g} kbit/s" for c in cells], list(SCHEMES.values()),
                       [[results.mean(c, s) for s in SCHEMES] for c in cells])
            for errors in BIT_ERRORS if (cells := [c for c in chosen if c.errors == errors])]
    cell = Cell(*FIGURE_5)
    lines = []
    for scheme in ("ar", "dar"):
        acks = results.typical(cell, scheme)["acks_each_second"]
        lines.append(chart.Series(SCHEMES[scheme], list(range(1, len(acks) + 1)), acks))
    traffic = chart.Panel("ACKs that reach the sender, 8 kbit/s, bit errors 1e-7", "time, s", "ACKs/s", lines)
    paths = []
    for name, panels in (("figure-acks-4.svg", bars), ("figure-acks-5.svg", [traffic])):
        paths.append(f"{out}/{name}")
        with open(paths[-1], "w", encoding="utf-8") as file:
            file.write(chart.figure(panels))
    return paths
