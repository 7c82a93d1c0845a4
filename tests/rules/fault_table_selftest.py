"""Tests that fault_table.py accepts a small correct project, and finds and names each kind of false claim."""
import pathlib
import sys
import tempfile

import fault_table

CASE = 'TEST_CASE("F{0:02} goes well") {{ fault_case({0}, "bound", figure()); }}\n'
LOG = """1/2 Testing: unit_all
Output:
{}FAULT F92 | bound | 7
Test Passed.
2/2 Testing: loopback_one
Output:
FAULT F01 | seconds | 1 / 2
Test Passed.
"""


def make(root):
    """Makes a project: a program has cases 1 to 92, a script has case 1, too, and case 93 does not run here."""
    build = root / "build"
    for directory in ("tests/rules", "docs/inside", "docs/lab", "build/tests", "build/Testing/Temporary"):
        (root / directory).mkdir(parents=True)
    files = {
        "tests/all_test.cpp": "".join(CASE.format(number) for number in range(1, 93)),
        "tests/one.sh": 'fault_case F01 "seconds" "$took"\n',
        "tests/rules/faults.txt": "".join(f"F{number:02} | case {number} | S\n" for number in range(1, 94)),
        "tests/rules/faults_not_here.txt": "# why\nF93 | needs a day | F92\n",
        fault_table.DOCUMENT: f"Words.\n{fault_table.BEGIN}\n{fault_table.END}\nMore.\n",
        "docs/inside/testing.md": "Held by `unit_all` F5, and `loopback_one`.\n| `all_test` | F3, F5-F7 |\n",
        "build/tests/programs.txt": f"unit_all: {root}/tests/all_test.cpp\n",
        "build/tests/CTestTestfile.cmake": f'add_test([=[unit_all]=] "{build}/tests/unit_all")\n'
                                           f'add_test([=[loopback_one]=] "bash" "{root}/tests/one.sh")\n',
        "build/Testing/Temporary/LastTest.log": LOG.format("".join(f"FAULT F{n:02} | bound | {n}\n" for n in range(1, 92))),
    }
    for name, text in files.items():
        (root / name).write_text(text)


def found(root):
    return list(fault_table.problems(fault_table.Project(root, root / "build")))


def run(root):
    log = root / "build/Testing/Temporary/LastTest.log"
    return fault_table.write(fault_table.Project(root, root / "build"), [log.read_text()])


# {kind: (file of the correct project, old text, new text, part of the expected complaint)}
LIES = {
    "a case in no test": ("tests/all_test.cpp", CASE.format(44), "", "F44 is in no test"),
    "a case without a reason": ("tests/rules/faults_not_here.txt", "F93 | needs a day | F92\n", "", "F93 is in no test"),
    "a number above 93": ("tests/one.sh", "F01", "F94", "F94, which the matrix does not have"),
    "a case without its line": ("tests/all_test.cpp", "fault_case(7,", "ignore(7,", "F07, but prints no fault_case"),
    "a row of no test": (fault_table.DOCUMENT, "`loopback_one`", "`loopback_two`", "loopback_two, which is no test"),
    "a row of another case": (fault_table.DOCUMENT, "F01 case 1 | `loopback_one`", "F02 case 2 | `loopback_one`",
                              "F02 names loopback_one, which does not claim it"),
    "a row too few": (fault_table.DOCUMENT, "| F05 case 5 | `unit_all` | bound | 5 |\n", "", "lacks a row for F05"),
    "a row that no test printed": (fault_table.DOCUMENT, "F05 case 5 |", "F05 case five |", "not as ./dev matrix writes it"),
    "a document speaks of no test": ("docs/inside/testing.md", "`loopback_one`", "`loopback_none`", "loopback_none, which is no test"),
    "a document gives a test a case": ("docs/inside/testing.md", "`loopback_one`", "`loopback_one` F5", "loopback_one does not claim F05"),
    "a document gives a file a case": ("docs/inside/testing.md", "F5-F7", "F5-F93", "all_test does not claim F93"),
}


def selftest(root):
    make(root)
    assert run(root) == [] and found(root) == [], found(root)
    for name, (path, old, new, complaint) in LIES.items():
        sound = (root / path).read_text()
        assert old in sound, name
        (root / path).write_text(sound.replace(old, new))
        complaints = found(root)
        assert any(complaint in line for line in complaints), (name, complaints)
        (root / path).write_text(sound)
    assert found(root) == []
    check_writing(root)


def check_writing(root):
    log = root / "build/Testing/Temporary/LastTest.log"
    log.write_text("1/1 Testing: loopback_one\nOutput:\nFAULT F01 | seconds | 3\nTest Passed.\n")
    assert run(root) == []
    table = (root / fault_table.DOCUMENT).read_text()
    assert "`loopback_one` | seconds | 3 |" in table and "1 / 2" not in table, "the newer figure"
    assert "F50 case 50 | `unit_all` | bound | 50" in table, "a test that did not run keeps its figure"
    assert "F93 case 93 | needs a day | F92 |" in table and table.startswith("Words.") and table.endswith("More.\n")
    log.write_text("1/1 Testing: loopback_one\nOutput:\nFAULT F01 | seconds | 999\nTest Failed.\n")
    assert run(root) == [] and "999" not in (root / fault_table.DOCUMENT).read_text(), "a test that failed held no bound"
    (root / "tests/one.sh").write_text('print(f"FAULT F{number:02} | seconds | 4")\n')
    log.write_text("1/1 Testing: loopback_one\nOutput:\nFAULT F93 | seconds | 4\nTest Passed.\n")
    assert run(root) == [] and found(root) == [], "what a source computes is known when it has run"
    assert "F93 case 93 | `loopback_one` | seconds | 4" in (root / fault_table.DOCUMENT).read_text()
    (root / "tests/one.sh").write_text('fault_case F01 "seconds" "$took"\n')
    log.write_text("1/1 Testing: loopback_one\nOutput:\nnothing\nTest Passed.\n")
    assert any("F01, but its test printed no line" in line for line in run(root)), "a test that passed in silence"


with tempfile.TemporaryDirectory() as directory:
    selftest(pathlib.Path(directory).resolve())
print(f"{len(LIES)} kinds of lies found")
sys.exit(0)
