"""The files of bench/results: one measurement each, with what it takes to measure it again.

    {"command": "bench/...", "date": "2026-11-28", "commit": "c740c7fe", "machine": "...",
     "measures": ["libudtx/src/io", ...],   paths of the code whose change makes the figures stale
     "columns": ["tool", "Gbit/s"], "rows": [["udtx", "9.79"], ...],
     "bars": {"title": "...", "unit": "Gbit/s", "values": ["Gbit/s"]},    optional: a picture of some columns
     "calculated": true}                    optional: nobody measured these figures, they follow from measured ones

The commit is the one that was measured. "unknown": nobody recorded it, and the result counts as stale. Then "recorded"
names the commit that first wrote the figures down, and the date is the date of that commit.
A rate in Gbit/s or Mbit/s depends on most of the transport, so such a result measures several paths, except in virtual
time, where a simulator may need one part only.
A cell is text as a reader sees it: "9.79 (8.82 to 10.06)". Its first number is its value.
A laboratory page names a figure in its text only if one of its results or its set-up has it (unfounded()). A page
without set-up may define constants, but names no rate, share or queue that its results lack.
"""
import json
import pathlib
import re

FIELDS = {"command": str, "date": str, "commit": str, "machine": str, "measures": list, "columns": list, "rows": list}
SOURCES = ("command", "machine", "columns", "rows")  # of the figures that a text may name
RATE = re.compile(r"\b[GM]bit/s")
VIRTUAL = "virtual time"
VALUE = re.compile(r"-?\d[\d,]*(\.\d+)?")
HEADLINES = "headlines.json"
SHOWN = re.compile(r"^<!-- result ([\w.-]+) -->$", re.M)
UNKNOWN = "unknown"  # as a commit: it was not recorded
MEASURED = "**Measured.**"  # in a laboratory page: the set-up ends here
NO_FIGURE = re.compile(r"^<!-- result .*?^<!-- end -->$|^```.*?^```$|`[^`\n]*`|\]\([^)\n]*\)|"
                       r"\b20\d\d-\d\d-\d\d\b|\b(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b",
                       re.M | re.S)
GENERATED = re.compile(r"^<!-- faults: .*?^<!-- end of faults -->$", re.M | re.S)
QUANTITY = re.compile(r"\b[GMk]bit/s|\bof the link\b|\bJain's index\b|\bpackets queued\b|\bs/GB\b")
SENTENCE = re.compile(r"[^\n|]+?(?:[.!?](?=\s)|\||\n|$)")
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
    rates = any(RATE.search(column) for column in result["columns"])
    if rates and VIRTUAL not in result["machine"] and len(set(result["measures"])) < 2:
        raise Wrong(f"{path.name}: a rate depends on more than {result['measures'][0]}")
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
    how = "Calculated from figures of" if result.get("calculated") else "Measured"
    commit = f"commit `{result['commit'][:8]}`"
    if result["commit"] == UNKNOWN:
        how += " by"
        commit = "commit not recorded" + (f" (written down in `{result['recorded'][:8]}`)" if "recorded" in result else "")
    return f"\n{how} {result['date']}, {commit}, {result['machine']}.\n"


def plain(figure):
    return figure.replace(",", "")


def figures(text):
    return {plain(figure) for figure in FIGURE.findall(text)}


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def unfounded(text, shown):
    """(line, figure) of each figure in the text that neither the results `shown` nor the set-up have.

    The set-up ends at MEASURED. A page without MEASURED is a reference: it has no set-up, and only a sentence or cell
    with a QUANTITY needs results. A figure has a decimal point or two digits. Code, links, dates and commits have none.
    """
    prose = NO_FIGURE.sub(blank, GENERATED.sub(blank, text))
    before, found, _ = text.partition(MEASURED)
    sources = [[result[field] for field in SOURCES] for result in shown]
    known = figures(json.dumps(sources, ensure_ascii=False)) | (figures(before) if found else set())
    start = len(before) if found else 0
    for sentence in SENTENCE.finditer(prose, start):
        if not found and not QUANTITY.search(sentence[0]):
            continue
        for match in FIGURE.finditer(sentence[0]):
            figure = plain(match[0])
            if len(figure) > 1 and figure not in known:
                yield text.count("\n", 0, sentence.start() + match.start()) + 1, match[0]


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
