"""library_terms.py SOURCE_ROOT: checks that texts of the library do not name flags of the tools, and that names in code
do not use words that CONTRIBUTING.md replaces.

Programs with the library do not have these flags, so that its texts use the names of the public headers. Exits with 1
and prints the places that name a flag or use such a word.
"""
import pathlib
import re
import sys

QUOTED = re.compile(r"""//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\])'|"(?:\\.|[^"\\])*\"""", re.S)
FLAG = re.compile(r"(?<![\w-])--?[a-zA-Z0-9][\w-]*")
# Messages for the other end. If both ends are the tools, they know each other's flags.
SAID_TO_THE_PEER = {
    "job/incoming.cpp": {"--delete", "--allow-delete", "--set-id", "--allow-set-id"},
    "landing/eraser.cpp": {"--delete"},
    "landing/incoming_files.cpp": {"--no-resume"},
    "landing/stream_landing.cpp": {"--overwrite"},
    "landing/temp_file.cpp": {"--min-free"},
    "landing/tree_landing.cpp": {"--no-resume", "--overwrite"},
    "shard/job_file.cpp": {"--plan", "--job", "--jobs", "--exclude", "--include", "--files-from", "--links"},
    "source/outgoing.cpp": {"--set-id"},
}
OF_OTHER_PROGRAMS = {"-u", "-v", "-w"}  # ulimit, sysctl

# As a word of a name, with the usual word. comments.py checks the other texts.
UNUSUAL = {"dial": "connect", "dialled": "connect", "dialling": "connect", "ways": "paths, candidates", "placed": "unordered",
           "rival": "competing flow", "rivals": "competing flows", "clump": "burst", "clumps": "bursts", "crowd": "incast",
           "remorse": "resume", "blame": "all congestion", "lane": "packet thread", "lanes": "packet threads"}
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def unusual_words(text):
    """Line and advice for each unusual word in a name."""
    code = QUOTED.sub(lambda quoted: "\n" * quoted[0].count("\n"), text)
    for word in WORD.finditer(code):
        if word[0].lower() in UNUSUAL:
            yield code.count("\n", 0, word.start()) + 1, f"'{word[0]}' in a name: write '{UNUSUAL[word[0].lower()]}'"


def flags(text):
    """Line and name of each flag in a string literal of the text."""
    for match in QUOTED.finditer(text):
        if match[0].startswith('"'):
            for flag in FLAG.findall(match[0][1:-1]):
                yield text.count("\n", 0, match.start()) + 1, flag


def selftest():
    text = """// "--none"\nf('"', "use --delete, or -4");\nf("a-b", "udtx-send - x", "-", -1);\n"""
    assert list(flags(text)) == [(2, "--delete"), (2, "-4")], list(flags(text))
    text = """// dial\nint plan_ways;\nclass DialOptions; // "ways"\nreplaced, dialog, always("placed");\n"""
    assert [line for line, _ in unusual_words(text)] == [2, 3], list(unusual_words(text))


selftest()
root = pathlib.Path(sys.argv[1])
breaches = []
for path in sorted(root.joinpath("libudtx").rglob("*.[ch]pp")):
    known = next((known for end, known in SAID_TO_THE_PEER.items() if str(path).endswith(end)), set())
    breaches += [f"{path.relative_to(root)}:{line}: {flag}" for line, flag in flags(path.read_text())
                 if flag not in known | OF_OTHER_PROGRAMS]
for place in ("libudtx", "apps", "examples"):
    for path in sorted(root.joinpath(place).rglob("*.[ch]pp")):
        breaches += [f"{path.relative_to(root)}:{line}: {advice}" for line, advice in unusual_words(path.read_text())]
print("\n".join(breaches))
sys.exit(1 if breaches else 0)
