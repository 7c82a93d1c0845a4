"""library_terms.py SOURCE_ROOT: checks that texts of the library do not name flags of the tools.

Programs with the library do not have these flags, so that its texts use the names of the public headers. Exits with 1
and prints the places that name a flag.
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


def flags(text):
    """Line and name of each flag in a string literal of the text."""
    for match in QUOTED.finditer(text):
        if match[0].startswith('"'):
            for flag in FLAG.findall(match[0][1:-1]):
                yield text.count("\n", 0, match.start()) + 1, flag


def selftest():
    text = """// "--none"\nf('"', "use --delete, or -4");\nf("a-b", "udtx-send - x", "-", -1);\n"""
    assert list(flags(text)) == [(2, "--delete"), (2, "-4")], list(flags(text))


selftest()
root = pathlib.Path(sys.argv[1])
breaches = []
for path in sorted(root.joinpath("libudtx").rglob("*.[ch]pp")):
    known = next((known for end, known in SAID_TO_THE_PEER.items() if str(path).endswith(end)), set())
    breaches += [f"{path.relative_to(root)}:{line}: {flag}" for line, flag in flags(path.read_text())
                 if flag not in known | OF_OTHER_PROGRAMS]
print("\n".join(breaches))
sys.exit(1 if breaches else 0)
