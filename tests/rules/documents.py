#!/usr/bin/env python3
"""documents.py SOURCE_DIR: what a reader may expect of README.md, the pages of docs/ and the other pages at the top.

- Every link leads to a file, and to a heading of it.
- README.md has at most 900 words, docs/ without lab/ at most 22,000.
- Pages outside of docs/lab name no commit and no date: a manual and a specification have no history.
- Pages keep the rules of plain_english.py.
Exit 1 names the places.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
import plain_english  # noqa: E402

MOST_WORDS = {"README.md": 900, "docs/": 22_000}
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)(?: +\"[^\"]*\")?\)")
HEADING = re.compile(r"^#+ +(.*)$", re.M)
CODE = re.compile(r"^```.*?^```$|^ {4}[^\n]*$|`[^`\n]*`", re.M | re.S)
COMMIT = re.compile(r"\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{7,40}\b")
CODED_COMMIT = re.compile("`" + COMMIT.pattern + "`")
MONTH = "(January|February|March|April|May|June|July|August|September|October|November|December)"
DATE = re.compile(rf"\b20[0-9]{{2}}-[01][0-9](-[0-3][0-9])?\b|\b[0-9]{{1,2}} {MONTH} 20[0-9]{{2}}\b|\b[0-9]+/[0-9]+/20[0-9]{{2}}\b")
# Tables, lists and headings end a sentence.
BORDER = re.compile(r"^\|.*$|^#.*$|^ *[-*] |^ *\d+\. |\]\([^)\n]*\)|<!--.*?-->", re.M)


def anchor(heading):
    """As GitHub makes it."""
    text = re.sub(r"`|\*", "", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(path):
    return {anchor(heading) for heading in HEADING.findall(re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.M | re.S))}


def without_code(text, letter=" "):
    """Lines keep their numbers."""
    return CODE.sub(lambda code: re.sub(r"[^\n]", letter, code[0]), text)


def border(match):
    return "\n\n".ljust(len(match[0]))[:len(match[0])]


def broken_links(root, path, text):
    for match in LINK.finditer(text):
        target, _, part = match[1].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        place = (path.parent / target).resolve() if target else path
        line = text.count("\n", 0, match.start()) + 1
        if not place.exists():
            yield f"{path.relative_to(root)}:{line}: there is no {target}"
        elif part and place.suffix == ".md" and part not in anchors(place):
            yield f"{path.relative_to(root)}:{line}: {place.name} has no heading #{part}"


def found(root, path, text, patterns):
    for pattern, why in patterns:
        for match in pattern.finditer(text):
            yield f"{path.relative_to(root)}:{text.count(chr(10), 0, match.start()) + 1}: '{match[0]}': {why}"


def pages(root):
    return sorted([*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob(".github/**/*.md")])


def problems(root):
    words = dict.fromkeys(MOST_WORDS, 0)
    for path in pages(root):
        name = path.relative_to(root).as_posix()
        text = path.read_text()
        prose = without_code(text)
        yield from broken_links(root, path, prose)
        yield from found(root, path, prose, plain_english.RULES)
        for offset, what, why in plain_english.long_sentences(BORDER.sub(border, without_code(text, "X"))):
            yield f"{name}:{text.count(chr(10), 0, offset) + 1}: {what}: {why}"
        if name.startswith("docs/lab/"):
            continue
        for start in words:
            words[start] += len(text.split()) if name.startswith(start) else 0
        if name.startswith("docs/") or name == "README.md":
            yield from found(root, path, text, [(CODED_COMMIT, "a commit belongs to docs/lab")])
            yield from found(root, path, prose, [(COMMIT, "a commit belongs to docs/lab"), (DATE, "a date belongs to docs/lab")])
    yield from (f"{start} has {words[start]} words, at most {most}" for start, most in MOST_WORDS.items() if words[start] > most)


def self_test():
    assert anchor("What `--help` shows, and why") == "what---help-shows-and-why"
    root = pathlib.Path("/nowhere")
    text = without_code("Mended at 3f2a9bc, `mend`.\n```\nanew\n```\non 2026-11-28 we dial\n")
    assert [COMMIT.search(text)[0], DATE.search(text)[0]] == ["3f2a9bc", "2026-11-28"]
    told = list(found(root, root / "a.md", text, plain_english.RULES))
    assert told == ["a.md:1: 'Mended': write 'fix'", "a.md:5: 'dial': write 'connect'"], told
    assert not COMMIT.search("1000000 or deadbeef or 1234567")
    assert CODED_COMMIT.search("at `3f2a9bc`") and all(DATE.search(text) for text in ("28 November 2026", "11/28/2026"))


self_test()
wrong = list(problems(pathlib.Path(sys.argv[1]).resolve()))
print("\n".join(wrong))
sys.exit(1 if wrong else 0)
