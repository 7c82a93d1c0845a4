#!/usr/bin/env python3
"""Checks that documents name only existing tests, that a test holds each promise of docs/using/security.md, and that
each test is compiled.

named_tests.py SOURCE_DIR BUILD_DIR
Names are those of ctest in this build; `loopback_pairs_*` stands for all names with this beginning. Each section of
docs/using/security.md names the tests that hold it after "Tests:", or in each row of a table. The sections of
PROMISE_NOTHING need no test.
"""
import pathlib
import re
import sys

import build_tests

ROOMS = "unit|scenario|loopback|hostile|guard|fuzz|faults|powercut|network|soak|lab"
NAME = re.compile(rf"`((?:{ROOMS})_[a-z0-9_]+\*?)`")
DOCUMENTS = ("docs/using/security.md", "docs/inside/testing.md", "docs/lab/faults.md")
PROMISE_NOTHING = ("What is not hidden", "What is not promised")


def exists(name, known):
    return any(test.startswith(name[:-1]) for test in known) if name.endswith("*") else name in known


def claims(text, known):
    """Line number and name of each named test that does not exist."""
    for number, line in enumerate(text.splitlines(), 1):
        for name in NAME.findall(line):
            if not exists(name, known):
                yield number, name


def rows_of(section):
    """First and last cells of the rows of all tables whose last column names tests."""
    holds = False
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")] if line.startswith("|") else []
        if not cells:
            holds = False
        elif cells[-1].strip(" |") in ("held by", "tests"):
            holds = True
        elif holds and not line.startswith("|--"):
            yield cells[0], cells[-1]


def unheld(text):
    """Sections and table rows that name no test."""
    for section in re.split(r"^## ", text, flags=re.M)[1:]:
        title = section.splitlines()[0]
        rows = list(rows_of(section))
        yield from (cell for cell, tests in rows if not NAME.search(tests))
        held = section.partition("Tests:")[2].partition("\n\n")[0]
        if title not in PROMISE_NOTHING and not rows and not NAME.search(held):
            yield title


def self_test():
    known = {"unit_a", "loopback_b_one"}
    assert list(claims("`unit_a` `loopback_b_*`\n`unit_b` `loopback_c_*`", known)) == [(2, "unit_b"), (2, "loopback_c_*")]
    text = "# T\n\n## A\nx\n\nTests: `unit_a`\n\n## B\n`unit_a`\n\n## What is not promised\n"
    assert list(unheld(text)) == ["B"]
    table = "## A\n| a | tests |\n|---|---|\n| held | `unit_a` |\n| bare | x |\n"
    assert list(unheld(table)) == ["bare"]


def left_out(source, build):
    """Sources of tests that no program compiles."""
    compiled = {pathlib.Path(path) for sources in build_tests.programs(build).values() for path in sources}
    for path in sorted((source / "tests").rglob("*_test.cpp")):
        if path not in compiled:
            yield path.relative_to(source)


def main(source, build):
    self_test()
    # ctest -N is not used, as it would overwrite the log of the test run that this check is a part of.
    known = set(build_tests.commands(pathlib.Path(build)))
    assert len(known) > 50, f"there are {len(known)} tests in {build}"
    wrong = []
    for document in DOCUMENTS:
        text = (pathlib.Path(source) / document).read_text(encoding="utf-8")
        wrong += [f"{document}:{number}: there is no test {name}" for number, name in claims(text, known)]
    text = (pathlib.Path(source) / "docs/using/security.md").read_text(encoding="utf-8")
    wrong += [f"docs/using/security.md: nothing holds '{title}'" for title in unheld(text)]
    wrong += [f"{path}: no program has it" for path in left_out(pathlib.Path(source), pathlib.Path(build))]
    print("\n".join(wrong) or "every test that is named exists")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
