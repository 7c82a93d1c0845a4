"""Draws line and bar charts as SVG text. Needs only Python's standard library.

    figure([Panel("title", x="time, s", y="Mbit/s", series=[Series("flow 1", xs, ys)])]) -> SVG text

Panels are placed one below the other. lines.py and bars.py are the command-line versions.
"""
import math
from dataclasses import dataclass, field
from html import escape

# Okabe and Ito's palette, whose colours colour-blind readers can distinguish.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999"]
WIDTH, HEIGHT = 760, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 34, 44
CHARACTER = 6.6  # pixels of an average character
MOST_ASLANT = 26  # longest slanted label, in characters; labels are slanted if they do not fit between their neighbours
STYLES = ("line", "step", "points")


@dataclass
class Series:
    label: str
    xs: list
    ys: list
    style: str = "line"  # step: a value holds until the next x


@dataclass
class Panel:
    title: str
    x: str = ""
    y: str = ""
    series: list = field(default_factory=list)
    x_range: tuple = (None, None)
    y_range: tuple = (None, None)


@dataclass
class Bars:
    """values[i][j] is the bar of labels[j] in group groups[i]; None leaves a gap."""
    title: str
    y: str
    groups: list
    labels: list
    values: list
    y_range: tuple = (None, None)


def nice_ticks(low, high, about=6):
    """Round numbers within [low, high]. Their distance is 1, 2 or 5 times a power of ten."""
    if not high > low:
        high = low + 1.0
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [i * step for i in range(first, last + 1)]


def number(v):
    return f"{v:.10g}"


def bounds(values, given, from_zero):
    """The range of an axis: the given bounds, and for a missing bound the values' extreme."""
    finite = [v for v in values if v is not None and math.isfinite(v)]
    low = given[0] if given[0] is not None else min(finite, default=0.0)
    high = given[1] if given[1] is not None else max(finite, default=1.0)
    if from_zero and given[0] is None:
        low = min(low, 0.0)
    if given[1] is None and from_zero:
        high += 0.05 * (high - low)
    return (low, high) if high > low else (low, low + 1.0)


class Frame:
    """The rectangle and the scales of one panel."""

    def __init__(self, top, x_bounds, y_bounds):
        self.top, self.x_bounds, self.y_bounds = top + TOP, x_bounds, y_bounds
        self.right, self.bottom = WIDTH - RIGHT, top + HEIGHT - BOTTOM

    def x(self, v):
        low, high = self.x_bounds
        return LEFT + (v - low) / (high - low) * (self.right - LEFT)

    def y(self, v):
        low, high = self.y_bounds
        return self.bottom - (v - low) / (high - low) * (self.bottom - self.top)


def text(x, y, content, anchor="middle", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escape(str(content))}</text>'


def axes(frame, title, x_label, y_label, x_ticks):
    out = []
    for v in nice_ticks(*frame.y_bounds):
        y = frame.y(v)
        out.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{frame.right}"/>')
        out.append(text(LEFT - 6, y + 4, number(v), "end"))
    for v in x_ticks:
        x = frame.x(v)
        out.append(f'<path class="grid" d="M{x:.1f} {frame.top}V{frame.bottom}"/>')
        out.append(text(x, frame.bottom + 16, number(v)))
    out.append(f'<path class="axis" d="M{LEFT} {frame.top}V{frame.bottom}H{frame.right}"/>')
    out.append(text((LEFT + frame.right) / 2, frame.top - 18, title, extra=' class="title"'))
    out.append(text((LEFT + frame.right) / 2, frame.bottom + 34, x_label))
    middle = (frame.top + frame.bottom) / 2
    out.append(text(16, middle, y_label, extra=f' transform="rotate(-90 16 {middle:.1f})"'))
    return out


def legend(frame, labels):
    out = []
    x = frame.right
    for index, label in reversed(list(enumerate(labels))):
        x -= 7.0 * len(label) + 26
        colour = COLOURS[index % len(COLOURS)]
        out.append(f'<rect x="{x:.1f}" y="{frame.top - 12}" width="14" height="8" fill="{colour}"/>')
        out.append(text(x + 18, frame.top - 4, label, "start"))
    return out


def path_of(frame, series):
    """SVG path data. A missing value interrupts the line."""
    parts, pen_down, last_y = [], False, None
    for x, y in zip(series.xs, series.ys):
        if x is None or y is None or not math.isfinite(y):
            pen_down = False
            continue
        px, py = frame.x(x), frame.y(y)
        if series.style == "points":
            parts.append(f"M{px:.1f} {py:.1f}h0")
        elif not pen_down:
            parts.append(f"M{px:.1f} {py:.1f}")
        elif series.style == "step":
            parts.append(f"H{px:.1f}" if py == last_y else f"H{px:.1f}V{py:.1f}")
        else:
            parts.append(f"L{px:.1f} {py:.1f}")
        pen_down, last_y = True, py
    return "".join(parts)


def draw_lines(panel, top, name):
    for series in panel.series:
        if series.style not in STYLES:
            raise ValueError(f"unknown style {series.style!r}, known: {', '.join(STYLES)}")
    x_bounds = bounds([x for s in panel.series for x in s.xs], panel.x_range, from_zero=False)
    y_bounds = bounds([y for s in panel.series for y in s.ys], panel.y_range, from_zero=True)
    frame = Frame(top, x_bounds, y_bounds)
    out = axes(frame, panel.title, panel.x, panel.y, nice_ticks(*x_bounds, about=10))
    out.append(f'<clipPath id="{name}"><rect x="{LEFT}" y="{frame.top}" width="{frame.right - LEFT}" '
               f'height="{frame.bottom - frame.top}"/></clipPath><g clip-path="url(#{name})">')
    for index, series in enumerate(panel.series):
        colour = COLOURS[index % len(COLOURS)]
        dots = ' stroke-linecap="round" stroke-width="3"' if series.style == "points" else ""
        out.append(f'<path class="line" stroke="{colour}"{dots} d="{path_of(frame, series)}"/>')
    out.append("</g>")
    return out + legend(frame, [s.label for s in panel.series])


def draw_bars(bars, top):
    values = [v for group in bars.values for v in group]
    frame = Frame(top, (0.0, float(max(1, len(bars.groups)))), bounds(values, bars.y_range, from_zero=True))
    longest = max((len(str(group)) for group in bars.groups), default=0)
    aslant = longest * CHARACTER > (frame.right - LEFT) / max(1, len(bars.groups))
    if aslant:
        frame.bottom -= min(longest, MOST_ASLANT) * CHARACTER / 2 - 16
    out = axes(frame, bars.title, "", bars.y, [])
    wide = 0.8 / max(1, len(bars.labels))
    for i, group in enumerate(bars.groups):
        x, y = frame.x(i + 0.5), frame.bottom + 16
        if aslant:
            group = group if len(group) <= MOST_ASLANT else group[:MOST_ASLANT - 1] + "…"
            out.append(text(x, y, group, "end", f' transform="rotate(-30 {x:.1f} {y:.1f})"'))
        else:
            out.append(text(x, y, group))
        for j, value in enumerate(bars.values[i]):
            if value is None or not math.isfinite(value):
                continue
            x, right = frame.x(i + 0.1 + j * wide), frame.x(i + 0.1 + (j + 1) * wide)
            y, foot = sorted((frame.y(value), frame.y(max(0.0, frame.y_bounds[0]))))
            out.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{right - x:.1f}" height="{foot - y:.1f}" '
                       f'fill="{COLOURS[j % len(COLOURS)]}"/>')
    return out + legend(frame, bars.labels)


def figure(panels):
    body = []
    for index, panel in enumerate(panels):
        top = index * HEIGHT
        body += draw_bars(panel, top) if isinstance(panel, Bars) else draw_lines(panel, top, f"panel{index}")
    height = HEIGHT * len(panels)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
        "<style>.grid{stroke:#ddd}.axis{stroke:#000;fill:none}.line{fill:none;stroke-width:1.4;"
        "stroke-linejoin:round}.title{font-size:14px}</style>",
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>', *body, "</svg>", ""])
