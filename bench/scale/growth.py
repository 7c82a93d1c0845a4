"""Fits the growth of a figure, y = a x^b, by least squares of the logarithms."""
import math


def fit(xs, ys):
    """(a, b, R^2) over the points with positive x and y; None for fewer than three such points."""
    points = [(math.log(x), math.log(y)) for x, y in zip(xs, ys) if x is not None and y is not None and x > 0 and y > 0]
    if len(points) < 3:
        return None
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    total = sum((y - mean_y) ** 2 for _, y in points)
    if spread == 0:
        return None
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    rest = sum((y - mean_y - slope * (x - mean_x)) ** 2 for x, y in points)
    return math.exp(mean_y - slope * mean_x), slope, 1.0 if total == 0 else 1.0 - rest / total


def sentence(what, unit, by, xs, ys):
    """One line of text: the fitted power, and the first and last measured values."""
    known = [(x, y) for x, y in zip(xs, ys) if y is not None]
    if not known:
        return f"{what}: not measured"
    (first, low), (last, high) = known[0], known[-1]
    ends = f"{low:.3g} {unit} at {first:.4g}, {high:.3g} at {last:.4g}"
    fitted = fit(xs, ys)
    if fitted is None:
        return f"{what}: {ends}"
    return f"{what} grows as {by}^{fitted[1]:.2f} (R^2 {fitted[2]:.2f}): {ends}"
