#!/usr/bin/env python3
"""error_messages.py SOURCE_DIR: docs/using/errors.md has a row for each message that an operator can meet.

A message is what an Error of an operator's code is made with, directly or by one of HELPERS. A row covers it if one of
its texts in backticks is a part of the message; capitals such as X, N and HOST stand for any text. Exit 1 names the
messages without a row.
"""
import pathlib
import re
import sys

CODES = "network|no_route|udp_blocked|timeout|file_io|integrity|refused|partial|authentication|superseded"
# They make an Error of such a code from the words that they are given.
HELPERS = "io_error|socket_error|system_error|system_failure|authentication|error"
MADE = re.compile(rf"ErrorCode::(?:{CODES}),|(?:return |, |= |\()(?:{HELPERS})\((?=[^()]*\")")
RETURNED = re.compile(r'\breturn (?=[^;]*")')
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
COMMENT = re.compile(r"^[ \t]*//.*$|\s//[^\"\n]*$", re.M)
# The strings that they return become messages.
WHOLE = {"apps/dial/explain.cpp", "libudtx/src/proto/connection_doubt.cpp"}
# Sources whose messages only programs of the library meet: the row of the headers stands for them.
OF_PROGRAMS = {
    "libudtx/src/io/accept_queue.cpp": "a time-out of accept()",
    "libudtx/src/io/session_bytes.cpp": "time-outs of read() and write()",
    "libudtx/src/io/session_state.cpp": "time-outs of calls of a session",
    "libudtx/src/proto/connection_paths.cpp": "limits of add_path() and remove_path()",
    "libudtx/src/proto/stream_table.cpp": "the limit of open_stream()",
}
PLACEHOLDER = re.compile(r"\b(?:[XYNK]|HOST|DIR|FILE|PORT|USER|CODE|TIME)\b")
LEAST = 8  # letters of a text that may stand for a message


def expression_end(text, at):
    """Where the bracket that is open at `at` closes."""
    depth = 0
    for match in re.finditer(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|[(){};]', text[at:]):
        depth += (match[0] in "({") - (match[0] in ")}") if len(match[0]) == 1 else 0
        if depth < 0 or match[0] == ";":
            return at + match.start()
    return len(text)


def fixed(expression):
    """Its literals in one line, with X for what is between them."""
    joined = re.sub(r'"\s*"', "", expression)
    parts = [match[1].replace('\\"', '"') for match in LITERAL.finditer(joined)]
    return "X".join(part for part in parts if part)


def messages(text, whole=False):
    """(line, fixed text) of each message in a source."""
    text = COMMENT.sub("", text.replace("\r", ""))
    for match in (RETURNED if whole else MADE).finditer(text):
        said = fixed(text[match.end():expression_end(text, match.end())])
        if len(said.strip()) >= LEAST and " " in said.strip():
            yield text.count("\n", 0, match.start()) + 1, said


def rows(page):
    """A pattern for each text in backticks of the tables."""
    tables = "\n".join(line for line in page.splitlines() if line.startswith("|"))
    for text in re.findall(r"`([^`]+)`", tables):
        if len(text) >= LEAST and " " in text:
            yield re.compile(".*?".join(re.escape(part) for part in PLACEHOLDER.split(text)))


def problems(root):
    known = list(rows((root / "docs/using/errors.md").read_text()))
    sources = sorted([*root.glob("libudtx/src/**/*.?pp"), *root.glob("apps/**/*.?pp")])
    for path in sources:
        name = path.relative_to(root).as_posix()
        if name in OF_PROGRAMS:
            continue
        for line, said in messages(path.read_text(), name in WHOLE):
            if not any(pattern.search(said) for pattern in known):
                yield f"{name}:{line}: docs/using/errors.md has no row for: {said}"
    yield from (f"{name} does not exist" for name in [*WHOLE, *OF_PROGRAMS] if not (root / name).exists())


def self_test():
    source = ('return Error{ErrorCode::refused,\n  "\'" + name(a, "b") + "\' is gone; "\n  "bring it"};\n'
              '// Error{ErrorCode::refused, "comment"}\nreturn io_error("cannot bend", path, errno);\n'
              'return Error{ErrorCode::protocol, "peer"};\nreturn {ErrorCode::timeout, why};\n')
    found = list(messages(source))
    assert found == [(1, "'XbX' is gone; bring it"), (5, "cannot bend")], found
    page = "`cannot bend spoons`\n| **11** `cannot bend`, `'X' is gone` | `short` |\n"
    assert [any(p.search(said) for p in rows(page)) for _, said in found] == [True, True]
    assert not any(p.search("cannot break") for p in rows(page))
    assert [m[1] for m in messages('if (x) return "nothing at " + where;', True)] == ["nothing at "]


self_test()
wrong = list(problems(pathlib.Path(sys.argv[1]).resolve()))
print("\n".join(wrong))
sys.exit(1 if wrong else 0)
