#!/usr/bin/env python3
"""shown_code.py SOURCE_DIR: checks that a test compiles the code that docs/using/library.md shows.

Every block of C++ or CMake must occur, line by line, in an example or in a file of the guide's project. The tests of
the installed package build and run both. A line "// ..." stands for omitted lines. Indentation does not count.
"""
import pathlib
import re
import sys

BLOCK = re.compile(r"^```(cpp|cmake)\n(.*?)^```$", re.M | re.S)


def lines_of(text):
    return [line.strip() for line in text.strip().splitlines()]


def holds(source, block):
    """True if the source contains the pieces of the block in order."""
    at = 0
    for piece in re.split(r"^\s*// \.\.\.\n", block, flags=re.M):
        wanted = lines_of(piece)
        places = range(at, len(source) - len(wanted) + 1)
        at = next((place + len(wanted) for place in places if source[place:place + len(wanted)] == wanted), None)
        if at is None:
            return False
    return True


def self_test():
    source = lines_of("a\n  b\nc\nd\n")
    assert holds(source, "    a\n    b\n") and holds(source, "b\n// ...\nd\n")
    assert not holds(source, "a\nc\n") and not holds(source, "d\n// ...\na\n")


def main(root):
    self_test()
    root = pathlib.Path(root)
    sources = [lines_of(path.read_text(encoding="utf-8")) for directory in ("examples", "tests/install/guide")
               for path in sorted((root / directory).iterdir())]
    text = (root / "docs/using/library.md").read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    wrong = [f"docs/using/library.md:{text.count(chr(10), 0, block.start()) + 1}: no program has this"
             for block in blocks if not any(holds(source, block[2]) for source in sources)]
    print("\n".join(wrong) or f"{len(blocks)} pieces of code")
    return 1 if wrong or not blocks else 0


sys.exit(main(*sys.argv[1:]))
