#!/usr/bin/env python3
"""comments.py SOURCE_DIR: comments of sources, and the messages in them, keep the rules of plain_english.py.

In C++ a message is a string of at least four words. In Python docstrings and help texts count, in Bash comments only.
Exit 1 names the places.
"""
import ast
import io
import pathlib
import re
import sys
import tokenize

sys.dont_write_bytecode = True
import plain_english  # noqa: E402

PLACES = ("libudtx", "apps", "tests", "bench", "examples")
WITH_MESSAGES = ("libudtx/src", "apps")
TOKEN = re.compile(r"""(?P<comment>//[^\n]*|/\*.*?\*/)|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?P<message>(?:\\.|[^"\\\n])*)"|"""
                   r"""(?<![0-9a-zA-Z])'(?:\\.|[^'\\\n])+'""", re.S)
BORDER = re.compile(r"^//[/!]?<?\s?|^/\*+\s?|\s*\*+/$")
TABLE = re.compile(r"//+ *\||//+ {3}")  # or a listing
FEWEST_WORDS = 4
SCRIPT_PLACES = ("bench", "tests", "packaging", "dev", ".ci")
PROGRAM = re.compile(r"#!.*\b(python3?|bash|sh)\b")
BASH_COMMENT = re.compile(r"(^|[\s;])#(?!!)(?P<text>[^\n]*)$")
CODE = re.compile(r"`[^`]*`|\"[^\"]*\"|[\w.]+/[\w./]+")  # paths, too
HELP = ("help", "description", "epilog")
LISTING = re.compile(r"^ {2,}.*$|^.*\S {3,}\S.*$|^- ", re.M)


def texts(source):
    """(line, text, whether it is a comment) of each message, and of each comment, lines that follow each other as one."""
    comments = []
    for match in TOKEN.finditer(source):
        line, comment = source.count("\n", 0, match.start()) + 1, match["comment"]
        if comment:
            alone = not source[source.rfind("\n", 0, match.start()) + 1:match.start()].strip()
            comments.append((line, "" if TABLE.match(comment) else BORDER.sub("", comment).strip(), alone))
        elif match["message"] and len(match["message"].split()) >= FEWEST_WORDS:
            yield line, match["message"], False
    yield from ((line, text, True) for line, text in joined(comments))


def joined(comments):
    """(line, text) of comments (line, text, whether it has its line alone), lines that follow each other as one."""
    run, first, last = [], 0, -1
    for line, text, alone in comments:
        listing = re.match(r" {3}|\s*\|", text)
        if run and (line != last + 1 or not alone or not text.strip() or listing):
            yield first, " ".join(run)
            run = []
        if text.strip() and not listing:
            first = first if run else line
            run.append(text.strip())
            last = line if alone else -1
    if run:
        yield first, " ".join(run)


def python_texts(source):
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    yield from joined((token.start[0], token.string[1:], not token.line[:token.start[1]].strip()) for token in tokens
                      if token.type == tokenize.COMMENT and not token.string.startswith("#!"))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(node):
            yield node.body[0].lineno, LISTING.sub("\n", ast.get_docstring(node))
        if isinstance(node, ast.keyword) and node.arg in HELP:
            for part in ast.walk(node.value):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.lineno, part.value


def bash_texts(source):
    found = ((line, BASH_COMMENT.search(text), text) for line, text in enumerate(source.splitlines(), 1))
    yield from joined((line, match["text"], text.lstrip().startswith("#")) for line, match, text in found if match)


def script_texts(path):
    """(line, text); none if the file is not a script."""
    source = path.read_bytes().decode("utf-8", "replace")
    program = PROGRAM.match(source)
    if path.suffix == ".py" or (path.suffix == "" and program and program[1].startswith("python")):
        yield from python_texts(source)
    elif path.suffix == ".sh" or (path.suffix == "" and program):
        yield from bash_texts(source)


def files(place, pattern):
    """Without what cargo has built."""
    return sorted(path for path in place.rglob(pattern) if "target" not in path.parts)


def all_texts(root):
    """(name, line, text)"""
    for path in [path for place in PLACES for path in files(root / place, "*.[ch]pp")]:
        name = path.relative_to(root).as_posix()
        for line, text, is_comment in texts(path.read_text(encoding="utf-8")):
            if is_comment or name.startswith(WITH_MESSAGES):
                yield name, line, text
    for place in SCRIPT_PLACES:
        for path in files(root / place, "*") if (root / place).is_dir() else [root / place]:
            if path.is_file() and path.suffix in ("", ".py", ".sh"):
                yield from ((path.relative_to(root).as_posix(), line, text) for line, text in script_texts(path))


def problems(root):
    for name, line, text in all_texts(root):
        prose = CODE.sub(lambda code: "X" * len(code[0]), text)
        for _, what, why in [*plain_english.findings(prose), *plain_english.long_sentences(prose)]:
            yield f"{name}:{line}: {what}: {why}"


def self_test():
    source = '// one\n// two\n// | table |\nint a;  // three\n\n/// four\n///\n// five\ncall("not // six", "a message of words", \'"\');\n'
    found = [(line, text) for line, text, _ in texts(source)]
    assert sorted(found) == [(1, "one two"), (4, "three"), (6, "four"), (8, "five"), (9, "a message of words")], found
    python = '#!/usr/bin/env python3\n"""One.\n\n  a listing\nSix.\n"""\n# two\n# three\na = "# not"  # four\ncall(x, help="five")\n'
    assert sorted(python_texts(python)) == [(2, "One.\n\n\n\nSix."), (7, "two three"), (9, "four"), (10, "five")]
    assert list(bash_texts("#!/bin/bash\n# one\n# two\na=$#  # three\n")) == [(2, "one two"), (4, "three")]


self_test()
wrong = list(problems(pathlib.Path(sys.argv[1]).resolve()))
print("\n".join(wrong))
sys.exit(1 if wrong else 0)
