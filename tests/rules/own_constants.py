"""own_constants.py SOURCE_ROOT: checks that the source itself or a header declares each constant (kName) of a source.

./dev joins sources into one object, in which a source sees the unnamed namespaces of the sources before it. Plain cmake
does not join them. Exits with 1 and prints the constants that would not compile with plain cmake.
"""
import pathlib
import re
import sys

NAME = re.compile(r"\bk[A-Z]\w+\b")
QUIET = re.compile(r"""//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\])'|"(?:\\.|[^"\\])*\"""", re.S)
DECLARED = re.compile(r"\b(?:constexpr|const|enum)\b[^;{}]*?\b(k[A-Z]\w+)\b")


def foreign(texts):
    """The sources of {path: text} with constants that neither the source nor a header declares."""
    quiet = {path: QUIET.sub("", text) for path, text in texts.items()}
    in_headers = {name for path, text in quiet.items() if path.endswith(".hpp") for name in NAME.findall(text)}
    for path, text in sorted(quiet.items()):
        if path.endswith(".cpp"):
            missing = set(NAME.findall(text)) - in_headers - set(DECLARED.findall(text))
            if missing:
                yield path, sorted(missing)


def selftest():
    texts = {"a.cpp": "constexpr int kOne = 1; int f() { return kOne + kTwo + kThree; }  // kFour",
             "b.cpp": "namespace { constexpr int kTwo = 2; }", "c.hpp": "constexpr int kThree = 3;"}
    assert list(foreign(texts)) == [("a.cpp", ["kTwo"])], list(foreign(texts))


selftest()
root = pathlib.Path(sys.argv[1])
found = list(foreign({str(path.relative_to(root)): path.read_text()
                      for room in ("libudtx", "apps") for path in root.joinpath(room).rglob("*.[ch]pp")}))
for path, names in found:
    print(f"{path}: {', '.join(names)} is declared neither here nor in a header")
sys.exit(1 if found else 0)
