#!/usr/bin/env python3
"""exported_names.py <include/udtx> <shared library>: the library exports what public headers mark with UDTX_EXPORT.

Every exported name must belong to such a class or be such a function. Each of those must export a name.
"""
import pathlib
import re
import subprocess
import sys

NAMESPACE = re.compile(r"^\s*(?:inline\s+)?namespace\s+([\w:]+)\s*$")
CLASS = re.compile(r"(?:class|struct)\s+UDTX_EXPORT\s+(\w+)")
INSIDE = re.compile(r"(?:^|[:>])\s*(?:class|struct)\s+(?:UDTX_EXPORT\s+)?(\w+)[^()]*$")
FUNCTION = re.compile(r"UDTX_EXPORT\b[^;{]*?\b(\w+)\s*\(")
PREFIX = re.compile(r"^(?:vtable|typeinfo|typeinfo name|VTT|guard variable) for |^(?:non-)?virtual thunk to ")


def marked(text):
    """Qualified names of the classes and functions that a header marks."""
    text = re.sub(r"//.*|^\s*#.*|\"(?:\\.|[^\"\\])*\"", "", text, flags=re.M)
    names, scopes, statement = set(), [], ""
    for piece in re.findall(r"[{};]|[^{};]+", text):
        if piece in "{;":
            inside = "::".join(scope for scope in scopes if scope)
            found = CLASS.search(statement) or FUNCTION.search(statement)
            if found and not (piece == ";" and CLASS.search(statement)):
                names.add(f"{inside}::{found.group(1)}")
        if piece == "{":
            opened = NAMESPACE.match(statement.strip()) or INSIDE.search(statement)
            scopes.append(opened.group(1) if opened else "")
        elif piece == "}":
            scopes.pop()
        statement = "" if piece in "{};" else piece
    return names


def offered(library):
    """Demangled names that the library exports."""
    lines = subprocess.run(["nm", "-D", "-C", "--defined-only", library], check=True, capture_output=True, text=True)
    for line in lines.stdout.splitlines():
        yield PREFIX.sub("", re.match(r"^[0-9a-f]*\s+\S\s+(.*)$", line).group(1))


def main():
    include, library = sys.argv[1:]
    names = set()
    for header in pathlib.Path(include).rglob("*.hpp"):
        names |= marked(header.read_text())
    unused, strangers = set(names), []
    for symbol in offered(library):
        owner = [name for name in names if re.match(re.escape(name) + r"(::|\(|\[|$)", symbol)]
        unused -= set(owner)
        if not owner:
            strangers.append(symbol)
    for symbol in strangers:
        print(f"offered, though no public header marks it: {symbol}")
    for name in sorted(unused):
        print(f"marked, though the library does not have it: {name}")
    if strangers or unused or not names:
        sys.exit(1)
    print(f"{len(names)} public classes and functions")


main()
