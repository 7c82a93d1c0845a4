"""The files of bench/results: one measurement each, with what it takes to measure it again.

    {"command": "bench/...", "date": "2026-11-28", "commit": "c740c7fe", "machine": "...",
     "measures": ["libudtx/src/io"],        paths of the code whose change makes the figures stale
                                            ("commit": "unknown": nobody recorded it, and they count as stale)
     "columns": ["tool", "Gbit/s"], "rows": [["udtx", "9.79"], ...],
     "bars": {"title": "...", "unit": "Gbit/s", "values": ["Gbit/s"]}}    optional: a picture of some columns

A cell is text as a reader sees it: "9.79 (8.82 to 10.06)". Its first number is its value.
A laboratory page names a figure in its text only if one of its results or its set-up has it (unfounded()).
"""
import json
import pathlib
import re

FIELDS = {"command": str, "date": str, "commit": str, "machine": str, "measures": list, "columns": list, "rows": list}
VALUE = re.compile(r"-?\d[\d,]*(\.\d+)?")
HEADLINES = "headlines.json"
UNKNOWN = "unknown"  # as a commit: it was not recorded
MEASURED = "**Measured.**"  # in a laboratory page: the set-up ends here
NO_FIGURE = re.compile(r"^<!-- result .*?^<!-- end -->$|^```.*?^```$|`[^`\n]*`|\]\([^)\n]*\)|\b20\d\d-\d\d-\d\d\b|\b(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b",
                       re.M | re.S)
FIGURE = re.compile(r"\d[\d,]*(?:\.\d+)?")
LAB_LINE = re.compile(r"^\| \[[\w-]+\]\(([\w-]+\.md)\) \|[^|]*\|([^|]*)\|$", re.M)


class Wrong(Exception):
    pass


def read(path):
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise Wrong(f"{path.name}: {error}") from error
    for field, kind in FIELDS.items():
        if not isinstance(result.get(field), kind):
            raise Wrong(f"{path.name}: '{field}' is missing or is no {kind.__name__}")
    if not result["measures"]:
        raise Wrong(f"{path.name}: 'measures' names no path")
    width = len(result["columns"])
    for row in result["rows"]:
        if len(row) != width:
            raise Wrong(f"{path.name}: a row has {len(row)} cells, not {width}: {row}")
    return result


def read_all(root):
    places = sorted(pathlib.Path(root, "bench/results").glob("*.json"))
    return {path.stem: read(path) for path in places if path.name != HEADLINES}


def headlines(root):
    """[{"figure": ..., "result": ..., "row": ..., "column": ..., "unit": ..., "beside": [row, ...]}] for README.md."""
    return json.loads(pathlib.Path(root, "bench/results", HEADLINES).read_text(encoding="utf-8"))


def table(columns, rows):
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


def caption(result):
    commit = "commit not recorded" if result["commit"] == UNKNOWN else f"commit `{result['commit'][:8]}`"
    return f"\nMeasured {result['date']}, {commit}, {result['machine']}.\n"


def figures(text):
    return {figure.replace(",", "").rstrip(".") for figure in FIGURE.findall(text)}


def unfounded(text, shown):
    """(line, figure) of each figure behind MEASURED that neither the results `shown` nor the text before have.

    A figure has a decimal point or two digits. Code, links, dates and commits have none.
    """
    before, found, after = text.partition(MEASURED)
    if not found:
        return
    known = figures(before) | figures(json.dumps(shown))
    prose = NO_FIGURE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), before + found + after)
    for match in FIGURE.finditer(prose, len(before)):
        figure = match[0].replace(",", "").rstrip(".")
        if len(figure) > 1 and figure not in known:
            yield text.count("\n", 0, match.start()) + 1, match[0]


def verdicts(text):
    """(line, page, verdict) of the table of contents."""
    for match in LAB_LINE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match[1], match[2]


def value(cell):
    """The first number of a cell; None if it has none."""
    match = VALUE.search(cell)
    return float(match[0].replace(",", "")) if match else None


def cell(name, result, row, column):
    try:
        cells = next(cells for cells in result["rows"] if cells[0] == row)
        return cells[result["columns"].index(column)]
    except (StopIteration, ValueError):
        raise Wrong(f"{name}: there is no '{row}' with a '{column}'") from None
