#!/usr/bin/env python3
"""Prints a table of the lines of library and tools that the tests have reached, by directory.

table.py SOURCE_DIR BUILD_DIR
BUILD_DIR was built with -DUDTX_COVERAGE=ON. A line of a header counts as reached if any source that includes it reached it.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

ROOMS = ("libudtx/include", "libudtx/src", "apps")


def room_of(path, source):
    """The directory of a file, such as apps/ssh; None if it is not part of the product."""
    try:
        relative = pathlib.Path(path).resolve().relative_to(source)
    except ValueError:
        return None
    for top in ROOMS:
        parts = pathlib.PurePath(top).parts
        if relative.parts[: len(parts)] != parts:
            continue
        inner = relative.parts[len(parts) : -1]
        return top if top.endswith("include") or not inner else f"{top}/{inner[0]}"
    return None


def lines_of(notes):
    """(file, line, count) of each line of one object; all counts are 0 if it never ran."""
    data = notes.with_suffix(".gcda")
    gcov = os.environ.get("GCOV", "gcov")
    told = subprocess.run(
        [gcov, "--json-format", "--stdout", str(data if data.exists() else notes)],
        capture_output=True, text=True, check=True, cwd=notes.parent)
    for text in told.stdout.splitlines():
        if not text.startswith("{"):
            continue
        report = json.loads(text)
        for file in report["files"]:
            path = os.path.join(report["current_working_directory"], file["file"])
            for line in file["lines"]:
                yield path, line["line_number"], line["count"]


def reached(build, source):
    """{directory: {(file, line): reached}}"""
    rooms = collections.defaultdict(dict)
    known = {}
    notes = sorted(pathlib.Path(build).resolve().rglob("*.gcno"))
    if not notes:
        sys.exit(f"nothing in {build} was built with UDTX_COVERAGE")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for lines in pool.map(lambda one: list(lines_of(one)), notes):
            for path, number, count in lines:
                if path not in known:
                    known[path] = room_of(path, source)
                room = known[path]
                if room is not None:
                    key = (path, number)
                    rooms[room][key] = rooms[room].get(key, False) or count > 0
    return rooms


def row(name, lines):
    hit = sum(lines.values())
    return f"| {name} | {len(lines)} | {100 * hit / len(lines):.1f} % |"


def main(source, build):
    rooms = reached(build, pathlib.Path(source).resolve())
    print("| room | lines | reached |\n|---|---|---|")
    for room in sorted(rooms):
        print(row(f"`{room}`", rooms[room]))
    print(row("all", {key: hit for lines in rooms.values() for key, hit in lines.items()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
