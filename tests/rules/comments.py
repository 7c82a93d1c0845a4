#!/usr/bin/env python3
"""comments.py SOURCE_DIR: comments of C++ sources, and the messages in them, keep the rules of plain_english.py.

A message is a string of at least four words. Exit 1 names the places.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
import plain_english  # noqa: E402

PLACES = ("libudtx", "apps", "tests", "bench", "examples")
WITH_MESSAGES = ("libudtx/src", "apps")
TOKEN = re.compile(r"""(?P<comment>//[^\n]*|/\*.*?\*/)|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?P<message>(?:\\.|[^"\\\n])*)"|"""
                   r"""(?<![0-9a-zA-Z])'(?:\\.|[^'\\\n])+'""", re.S)
BORDER = re.compile(r"^//[/!]?<?\s?|^/\*+\s?|\s*\*+/$")
TABLE = re.compile(r"//+ *\||//+ {3}")  # or a listing
FEWEST_WORDS = 4


def texts(source):
    """(line, text) of each comment, lines that follow each other as one, and of each message."""
    run, first, last = [], 0, -1
    for match in TOKEN.finditer(source):
        line = source.count("\n", 0, match.start()) + 1
        if match["comment"]:
            alone = not source[source.rfind("\n", 0, match.start()) + 1:match.start()].strip()
            text = BORDER.sub("", match["comment"]).strip()
            if TABLE.match(match["comment"]):
                text = ""
            if run and (line != last + 1 or not alone or not text):
                yield first, " ".join(run), True
                run = []
            if text:
                first = first if run else line
                run.append(text)
                last = line if alone else -1
        elif match["message"] and len(match["message"].split()) >= FEWEST_WORDS:
            yield line, match["message"], False
    if run:
        yield first, " ".join(run), True


def problems(root):
    for path in sorted(path for place in PLACES for path in (root / place).rglob("*.[ch]pp")):
        name = path.relative_to(root).as_posix()
        for line, text, is_comment in texts(path.read_text(encoding="utf-8")):
            if not is_comment and not name.startswith(WITH_MESSAGES):
                continue
            prose = re.sub(r"`[^`]*`|\"[^\"]*\"", lambda code: "X" * len(code[0]), text)
            for _, what, why in [*plain_english.findings(prose), *plain_english.long_sentences(prose)]:
                yield f"{name}:{line}: {what}: {why}"


def self_test():
    source = '// one\n// two\n// | table |\nint a;  // three\n\n/// four\n///\n// five\ncall("not // six", "a message of words", \'"\');\n'
    found = [(line, text) for line, text, _ in texts(source)]
    assert sorted(found) == [(1, "one two"), (4, "three"), (6, "four"), (8, "five"), (9, "a message of words")], found


self_test()
wrong = list(problems(pathlib.Path(sys.argv[1]).resolve()))
print("\n".join(wrong))
sys.exit(1 if wrong else 0)
