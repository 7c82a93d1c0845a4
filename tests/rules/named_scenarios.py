#!/usr/bin/env python3
"""Checks that results and the list of policy tests name only scenarios of bench/sim, and that the list is whole.

named_scenarios.py SOURCE_DIR
In results of the simulator, the column "scenario" and the names after --only are checked. In the table of
docs/lab/policy-tests.md each row names a scenario, or says "none:" and a reason. Each c4- scenario is in that table.
"""
import json
import pathlib
import re
import sys

SCENARIO = re.compile(r'(?:\{|\b(?:cell|carried|queue)\()\s*"([a-z0-9-]+)",\s*"')
LIST = "docs/lab/policy-tests.md"


def scenarios(source):
    names = set()
    for path in sorted((source / "bench/sim").glob("*cells.cpp")):
        names.update(SCENARIO.findall(path.read_text(encoding="utf-8")))
    return names


def list_errors(text, known):
    """What is wrong with the table of policy tests."""
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line.startswith("| `")]
    if not rows:
        yield "there is no row"
    used = set()
    for row in rows:
        names = re.findall(r"`([^`]+)`", row[-1]) if not row[-1].startswith("none: ") else []
        if not names and not row[-1].startswith("none: "):
            yield f"{row[0]} names no scenario and no reason"
        yield from (f"{row[0]}: there is no scenario {name}" for name in names if name not in known)
        used.update(names)
    yield from (f"{name} is in no row" for name in sorted(known - used) if name.startswith("c4-"))


def result_errors(result, known):
    lines = [line for line in result["command"].splitlines() if re.search(r"\bbench sim\b|\budtx-sim-scores\b", line)]
    if lines and result["columns"][0] == "scenario":
        yield from (f"there is no scenario {row[0]}" for row in result["rows"] if row[0] not in known)
    for line in lines:
        for name in " ".join(re.findall(r"--only (.*?)(?= --|$)", line)).split():
            if not any(other.startswith(name) for other in known):
                yield f"no scenario's name begins with {name}"


def self_test():
    known = {"c4-a", "c4-b", "loss-1"}
    good = "| `a` | x | `c4-a`, `loss-1` |\n| `b` | x | `c4-b` |\n| `e` | x | none: no ECN |\n"
    assert not list(list_errors(good, known))
    assert list(list_errors("| `a` | x | `c4-a`, `c4-c` |\n| `b` | x |  |\n", known)) == [
        "`a`: there is no scenario c4-c", "`b` names no scenario and no reason", "c4-b is in no row"]
    assert list(list_errors("", {"x"})) == ["there is no row"]
    result = {"columns": ["scenario", "udtx"], "rows": [["loss-1", "1"], ["gone", "1"]], "command": "bench sim --only c4 x --seeds 3"}
    assert list(result_errors(result, known)) == ["there is no scenario gone", "no scenario's name begins with x"]
    assert SCENARIO.findall('{"a-1", "w", cell("b",\n "w" beside(usual, "cubic", {"bbr", 1}') == ["a-1", "b"]


def main(source):
    self_test()
    source = pathlib.Path(source)
    known = scenarios(source)
    assert len(known) > 40, f"only {len(known)} scenarios are in bench/sim"
    wrong = [f"{LIST}: {text}" for text in list_errors((source / LIST).read_text(encoding="utf-8"), known)]
    for path in sorted((source / "bench/results").glob("*.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(result, dict):
            wrong += [f"{path.relative_to(source)}: {text}" for text in result_errors(result, known)]
    print("\n".join(wrong) or f"every scenario that is named is one of {len(known)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
