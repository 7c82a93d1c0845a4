#!/usr/bin/env python3
"""error_messages.py SOURCE_DIR: docs/using/errors.md has a row for each message that an operator can meet, with its exit
code.

A message is what an Error of an operator's code is made with, directly or by one of HELPERS. A row covers it if one of
its texts in backticks is a part of the message; capitals such as X, N and HOST stand for any text. The exit codes of a
row are the bold one, which also holds for the rows below it, those in words such as "(also 11)", and those of the
table's heading. One of them must be the code that apps/common/exit_codes.cpp gives for the Error. The row GENERAL covers
each invalid_argument that no other row has. Exit 1 names the messages without such a row, and the texts of rows that no
string of the sources has.
"""
import pathlib
import re
import sys

CODES = ("network|no_route|udp_blocked|timeout|file_io|integrity|refused|partial|authentication|superseded|going_away|malformed|protocol|"
         "invalid_argument|interrupted")
# They make an Error of such a code from the words that they are given.
HELPERS = {"io_error": "file_io", "socket_error": "network", "system_error": "network", "authentication": "authentication",
           "error": "file_io", "bad": "malformed", "usage": "invalid_argument"}
GENERAL = "any other text with code 1"
MADE = re.compile(rf"ErrorCode::({CODES}),|(?:return |, |= |\()({'|'.join(HELPERS)})\((?=[^()]*\")")
# Here this helper makes usage errors.
NO_HELPER = {"apps/common/units.cpp": "bad"}
# Texts of messages with another code than that of the Error.
OTHER_CODES = {
    "exists and is not overwritten": 1,  # keygen()
}
# Texts of rows that are composed at run time.
COMPOSED = {"--exclude-from: cannot read", "--files-from: cannot read", "--plan: cannot read", "--dir: directory X",
            "--authorized-keys: directory X", "X: No such file or directory"}
RETURNED = re.compile(r'\breturn (?=[^;]*")')
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
COMMENT = re.compile(r"^[ \t]*//.*$|[ \t]//[^\"\n]*$", re.M)
# The strings that they return become messages.
WHOLE = {"apps/connect/runner.cpp", "libudtx/src/proto/connection_timers.cpp"}
# Sources whose messages only programs of the library meet: the row of the headers stands for them.
OF_PROGRAMS = {
    "libudtx/src/io/listener.cpp": "a time-out of accept()",
    "libudtx/src/io/protocol_thread.hpp": "a session after fork()",
    "libudtx/src/io/session.cpp": "time-outs of read() and write()",
    "libudtx/src/proto/connection_paths.cpp": "limits of add_path() and remove_path()",
    "libudtx/src/proto/stream_table.cpp": "the limit of open_stream()",
}
# Only programs of the library meet its interrupted sessions and streams.
SESSIONS = "libudtx/src/io/"
# In the library these codes are violations by the other end: the row with "other violations" stands for them.
VIOLATIONS = ("malformed", "protocol")
NO_VIOLATIONS = ("apps/", "libudtx/src/openssl/credentials.cpp", "libudtx/src/openssl/key_file.cpp")
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
    said, end = "", 0
    for match in LITERAL.finditer(expression):
        adjacent = not expression[end:match.start()].strip()
        said += ("" if adjacent or not said or not match[1] else "X") + match[1].replace('\\"', '"')
        end = match.end()
    return said


def messages(text, whole=False, no_helper=None):
    """(line, ErrorCode or None, fixed text) of each message in a source."""
    text = COMMENT.sub("", text.replace("\r", ""))
    for match in (RETURNED if whole else MADE).finditer(text):
        code = None if whole else match[1] or HELPERS[match[2]]
        said = fixed(text[match.end():expression_end(text, match.end())])
        letters = re.sub(r"[^A-Za-z]|X", "", said)
        if len(letters) >= LEAST and " " in said.strip() and (whole or match[1] or match[2] != no_helper):
            yield text.count("\n", 0, match.start()) + 1, code, said


def exit_codes(root):
    """{name of an ErrorCode: exit code}"""
    numbers = dict(re.findall(r"^    (\w+) = (\d+),", (root / "apps/common/exit_codes.hpp").read_text(), re.M))
    source = (root / "apps/common/exit_codes.cpp").read_text()
    switch = source[source.index("ExitCode exit_code_for("):source.index("ErrorCode error_code_for(")]
    codes, names = {}, []
    for name, result in re.findall(r"case ErrorCode::(\w+):|return ExitCode::(\w+);", switch):
        names += [name] if name else []
        if result:
            codes.update({one: int(numbers[result]) for one in names})
            names = []
    return codes


def rows(page):
    """(pattern, exit codes, text) for each text in backticks in the first column of the tables."""
    bold = []
    for line in page.splitlines():
        if not line.startswith("|"):
            bold = []  # a new table
            continue
        cell = line.split("|")[1]
        bold = [int(code) for code in re.findall(r"\*\*(\d+)\*\*", cell)] or bold
        also = [int(code) for words in re.findall(r"\(also ([^)]*)\)", cell) for code in re.findall(r"\d+", words)]
        for text in re.findall(r"`([^`]+)`", cell):
            if len(text) >= LEAST and " " in text:
                yield re.compile(".*?".join(re.escape(part) for part in PLACEHOLDER.split(text))), bold + also, text


def statements(text):
    """The fixed text of each statement of a source."""
    text, at = COMMENT.sub("", text.replace("\r", "")), 0
    for match in re.finditer(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|;', text):
        if match[0] == ";":
            yield fixed(text[at:match.start()])
            at = match.end()
    yield fixed(text[at:])


def without_message(known, said):
    """The texts of rows that no statement of the sources says."""
    return [text for pattern, _, text in known if text not in COMPOSED and not any(pattern.search(one) for one in said)]


def code_of(error, said, codes):
    if error == "malformed":
        return 40  # key_error() of apps/options/common_options.cpp: damaged keys and files of keys
    for text, code in OTHER_CODES.items():
        if text in said:
            return code
    return codes[error] if error else None


def problems(root):
    page = (root / "docs/using/errors.md").read_text()
    known = list(rows(page))
    if not re.search(rf"^\|.*\b{GENERAL} \|", page, re.M):
        yield f"docs/using/errors.md has no row: {GENERAL}"
    codes = exit_codes(root)
    sources = sorted([*root.glob("libudtx/src/**/*.?pp"), *root.glob("apps/**/*.?pp")])
    for path in sources:
        name = path.relative_to(root).as_posix()
        if name in OF_PROGRAMS:
            continue
        for line, error, said in messages(path.read_text(), name in WHOLE, NO_HELPER.get(name)):
            if error in VIOLATIONS and not name.startswith(NO_VIOLATIONS):
                continue
            if error == "interrupted" and name.startswith(SESSIONS):
                continue
            of_rows = [some for pattern, some, _ in known if pattern.search(said)]
            code = code_of(error, said, codes)
            if not of_rows and error == "invalid_argument":
                continue
            if not of_rows:
                yield f"{name}:{line}: docs/using/errors.md has no row for: {said} ({code or 'any code'})"
            elif code and not any(code in some for some in of_rows):
                there = " or ".join(sorted({str(one) for some in of_rows for one in some}))
                yield f"{name}:{line}: the exit code is {code}, and docs/using/errors.md has {there} for: {said}"
    said = [one for path in sources for one in statements(path.read_text()) if one]
    yield from (f"docs/using/errors.md: no message has: {text}" for text in without_message(known, said))
    yield from (f"docs/using/errors.md has no: {text}" for text in sorted(COMPOSED - {text for *_, text in known}))
    yield from (f"{name} does not exist" for name in [*WHOLE, *OF_PROGRAMS, *NO_HELPER] if not (root / name).exists())


def self_test(root):
    assert fixed('"dir=\\"" + value + "\\" must "\n  "lie"') == 'dir="X" must lie'
    source = ('return Error{ErrorCode::refused,\n  "\'" + name(a, "b") + "\' is gone; "\n  "bring it"};\n'
              '// Error{ErrorCode::refused, "comment"}\nreturn io_error("cannot bend", path, errno);\n'
              'return Error{ErrorCode::internal, "peer is odd"};\nreturn {ErrorCode::timeout, why};\n')
    found = list(messages(source))
    assert found == [(1, "refused", "'XbX' is gone; bring it"), (5, "file_io", "cannot bend")], found
    page = ("`cannot bend spoons`\n| **11**; **23** if others | cause |\n| `cannot bend` (also 1 and 12), `'X' is gone` | `short` |\n"
            "| **40** `cannot see` | `cannot break` |\n| `cannot hear` | x |\n\n| `cannot smell` | x |\n")
    def of(said):
        return [some for pattern, some, _ in rows(page) if pattern.search(said)]
    assert [of(said) for _, _, said in found] == [[[11, 23, 1, 12]], [[11, 23, 1, 12]]], [of(said) for _, _, said in found]
    assert (of("cannot see"), of("cannot hear"), of("cannot smell"), of("cannot break")) == ([[40]], [[40]], [[]], [])
    assert [m[2] for m in messages('if (x) return "nothing at " + where;', True)] == ["nothing at "]
    codes = exit_codes(root)
    assert (codes["refused"], codes["file_io"], codes["partial"], codes["no_route"]) == (11, 11, 23, 10), codes
    assert set(CODES.split("|")) <= set(codes)
    assert list(messages('return usage("--dir is missing");')) == [(1, "invalid_argument", "--dir is missing")]
    assert (codes["invalid_argument"], codes["interrupted"]) == (1, 130), codes
    assert code_of("malformed", "", codes) == 40 and code_of(None, "x", codes) is None
    assert code_of("refused", "a malformed name", codes) == 11
    said = list(statements('a("cannot " "see;");\n// "cannot hear"\nb("a " + c + "cannot bend"); "\'" + x + "\' is gone"'))
    assert without_message(list(rows(page)), said) == ["cannot hear", "cannot smell"], said


root = pathlib.Path(sys.argv[1]).resolve()
self_test(root)
wrong = list(problems(root))
print("\n".join(wrong))
sys.exit(1 if wrong else 0)
