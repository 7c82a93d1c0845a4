"""Keeps the fault matrix, the tests and the table in docs/lab/faults.md consistent.

fault_table.py check SOURCE_ROOT BUILD   checks that each case has a test or a reason, and that all claims are true
fault_table.py write SOURCE_ROOT BUILD   rewrites the table from the sources and the output of the last test run
fault_table.py tests SOURCE_ROOT BUILD   prints the names of the tests that claim a case, one per line

A test claims a case by the name of a Catch2 case ("F68 ...") or by a line `FAULT F68 | bound | figure`, which fault_case() of
tests/support and tests/loopback/lib.sh print. If a source takes the number from a variable, it lists the numbers in a
comment (`cases: F53, F54`), a fuzz target in kFaultCases. Without a list, the output of the test's last run counts.
"""
import pathlib
import re
import sys

import build_tests

DOCUMENT = "docs/lab/faults.md"
BEGIN, END = "<!-- faults: made by ./dev matrix -->", "<!-- end of faults -->"
NUMBERS = range(1, 94)
NAMED = re.compile(r'TEST_CASE\(\s*"F(\d+)\b')
PRINTED = re.compile(r"fault_case\(\s*(\d+)|fault_case\s+F(\d+)|FAULT F(\d+)")
COMPUTED = re.compile(r"fault_case\(\s*[a-z]|FAULT F\{")
DECLARED = re.compile(r"cases: ((?:F\d+(?:, )?)+)")
FUZZED = re.compile(r"kFaultCases\{(.*?)\};", re.S)
LINE = re.compile(r"^FAULT F(\d+) \| (.*?) \| (.*)$", re.M)
ROW = re.compile(r"^\| F(\d+) .*? \| `([^`]+)` \| (.*?) \| (.*) \|$", re.M)
SPOKEN = re.compile(r"`((?:unit|scenario|loopback|hostile|fuzz|faults|guard|network|powercut|soak)_(?!test`)\w+)`((?:,? F\d+(?:, F\d+)*)?)")
SPOKEN_FILE = re.compile(r"^\| `(\w+_test)` \| (.*) \|$", re.M)


def numbers_in(text):
    return {int(number) for number in re.findall(r"\bF(\d+)", text)}


def named(text):
    return {int(number) for number in NAMED.findall(text)}


def printed(text):
    found = {int(number) for groups in PRINTED.findall(text) for number in groups if number}
    found.update(int(number) for cases in FUZZED.findall(text) for number in re.findall(r"\{(\d+),", cases))
    return found.union(*(numbers_in(declared) for declared in DECLARED.findall(text)))


def computed(text):
    """True if the source takes numbers from a variable and does not list them."""
    return COMPUTED.search(text) and not DECLARED.search(text)


def read_table(path):
    """{number: cells} of a file with lines `F01 | cell | cell`."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {int(line[1:3]): [cell.strip() for cell in line.split("|")[1:]] for line in lines}


class Project:
    def __init__(self, root, build):
        self.root = root
        self.matrix = read_table(root / "tests/rules/faults.txt")
        self.not_here = read_table(root / "tests/rules/faults_not_here.txt")
        self.document = root / DOCUMENT
        self.docs = {path: path.read_text() for path in sorted(root.glob("docs/**/*.md"))}
        self.sources = build_tests.sources_of_tests(root, build)  # {test: {path: text}}
        self.claims = {test: set().union(*(named(text) | printed(text) for text in texts.values()), set())
                       for test, texts in self.sources.items()}
        for number, test, _, _ in self.rows():
            if test in self.sources and any(computed(text) for text in self.sources[test].values()):
                self.claims[test].add(number)

    def rows(self):
        _, table, _ = self.parts()
        return [(int(number), test, bound, figure) for number, test, bound, figure in ROW.findall(table)]

    def parts(self):
        before, rest = self.docs[self.document].split(BEGIN + "\n")
        table, after = rest.split(END)
        return before, table, after


def wrong_claims(project):
    tested = set().union(*project.claims.values(), set())
    for number in NUMBERS:
        if number not in tested and number not in project.not_here:
            yield f"F{number:02} is in no test and not in tests/rules/faults_not_here.txt"
        if number not in project.matrix:
            yield f"F{number:02} is not in tests/rules/faults.txt"
    files = {path: text for texts in project.sources.values() for path, text in texts.items()}
    for path, text in sorted(files.items()):
        for number in sorted(named(text) | printed(text)):
            if number not in NUMBERS:
                yield f"{path} claims F{number:02}, which the matrix does not have"
        for number in sorted(named(text) - printed(text)):
            yield f"{path} has a case named F{number:02}, but prints no fault_case line for it"


def wrong_rows(project):
    rows = project.rows()
    shown = set()
    for number, test, _, _ in rows:
        if test not in project.sources:
            yield f"{DOCUMENT}: F{number:02} names {test}, which is no test"
        elif number not in project.claims[test]:
            yield f"{DOCUMENT}: F{number:02} names {test}, which does not claim it"
        else:
            shown.update((number, path) for path, text in project.sources[test].items() if number in named(text) | printed(text))
    for test, texts in sorted(project.sources.items()):
        for path, text in texts.items():
            for number in sorted((named(text) | printed(text)) - {number for number, at in shown if at == path}):
                yield f"{DOCUMENT} lacks a row for F{number:02} of {test}: ./dev matrix"
    if project.parts()[1] != table_of(project, rows):
        yield f"{DOCUMENT}: the table is not as ./dev matrix writes it"


def wrong_words(project):
    """Wrong claims of documents about tests."""
    by_file = {}
    for texts in project.sources.values():
        for path, text in texts.items():
            by_file.setdefault(pathlib.Path(path).stem, set()).update(named(text) | printed(text))
    for path, text in project.docs.items():
        name = path.relative_to(project.root)
        for test, claimed in SPOKEN.findall(text):
            if test not in project.sources:
                yield f"{name} speaks of {test}, which is no test"
                continue
            for number in sorted(numbers_in(claimed) - project.claims[test]):
                yield f"{name}: {test} does not claim F{number:02}"
        for stem, words in SPOKEN_FILE.findall(text):
            words = re.sub(r"F(\d+)-F(\d+)", lambda m: ", ".join(f"F{n}" for n in range(int(m[1]), int(m[2]) + 1)), words)
            for number in sorted(numbers_in(words) - by_file.get(stem, set())):
                yield f"{name}: {stem} does not claim F{number:02}"


def problems(project):
    yield from wrong_claims(project)
    yield from wrong_rows(project)
    yield from wrong_words(project)


def table_of(project, rows):
    lines = ["| case | test | bound | last figure |", "|---|---|---|---|"]
    lines += [f"| F{number:02} {project.matrix[number][0]} | `{test}` | {bound} | {figure} |"
              for number, test, bound, figure in sorted(rows, key=lambda row: row[:2])]
    lines += ["", "Not run here, or not in full:", "", "| case | reason | replacement |", "|---|---|---|"]
    lines += [f"| F{number:02} {project.matrix[number][0]} | {why} | {instead} |"
              for number, (why, instead) in sorted(project.not_here.items())]
    return "\n".join(lines) + "\n"


def rows_of_run(log):
    """{passed test: [(number, bound, figure)]} of a LastTest.log. If a bound was printed twice, the last figure
    counts."""
    result = {}
    for part in re.split(r"^\d+/\d+ Testing: ", log, flags=re.M)[1:]:
        test = part.split("\n", 1)[0]
        if "\nTest Passed.\n" in part:
            last = {(int(number), bound): figure for number, bound, figure in LINE.findall(part)}
            result[test] = [(number, bound, figure.replace("|", "/")) for (number, bound), figure in last.items()]
    return result


def new_rows(project, run):
    """New rows for the tests that ran, and the present rows of the other tests."""
    kept = [row for row in project.rows() if row[1] in project.sources and row[1] not in run
            and row[0] in project.claims[row[1]]]
    return kept + [(number, test, bound, figure) for test, lines in run.items() if test in project.sources
                   for number, bound, figure in lines]


def silent(project, run):
    """Cases that a source claims and no test printed, although all tests with this source ran and passed."""
    sharing = {}
    for test, texts in project.sources.items():
        for path, text in texts.items():
            sharing.setdefault(path, (text, []))[1].append(test)
    for path, (text, tests) in sorted(sharing.items()):
        if all(test in run for test in tests):
            said = {number for test in tests for number, _, _ in run[test]}
            for number in sorted((named(text) | printed(text)) - said):
                yield f"{path} claims F{number:02}, but its test printed no line for it"


def write(project, logs):
    run = {}
    for log in logs:
        run.update(rows_of_run(log))
    found = list(silent(project, run))
    before, _, after = project.parts()
    text = before + BEGIN + "\n" + table_of(project, new_rows(project, run)) + END + after
    project.document.write_text(text)
    project.docs[project.document] = text
    return found


def main():
    command, root, build = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3]).resolve()
    project = Project(root, build)
    found = []
    if command == "tests":
        print("\n".join(sorted(test for test, texts in project.sources.items()
                               if project.claims[test] or any(computed(text) for text in texts.values()))))
    elif command == "write":
        logs = [build / "Testing/Temporary" / name for name in ("LastTestBeforeRerun.log", "LastTest.log")]
        found = write(project, [log.read_text(errors="replace") for log in logs if log.exists()])
    if command != "tests":
        found += problems(project)
    for problem in found:
        print(problem)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
