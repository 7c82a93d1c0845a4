#!/usr/bin/env python3
"""foreign_names.py <archive...>: the archives define names of udtx and of the standard library only.

A linker keeps one definition of a name. If an archive had a function of Boost, say, a program that compiles Boost in
another version or with other options would call this one, with objects of another layout.
"""
import re
import subprocess
import sys

OWN = {"udtx", "std", "__gnu_cxx", "__cxxabiv1"}
ROOT = re.compile(r"(?<![\w:])([A-Za-z_]\w*)::")
# What a compiler adds to any object.
OF_COMPILER = re.compile(r"DW\.ref\.|__clang_call_terminate$|__asan|__tsan|__ubsan|__odr_asan|asan\.")


def foreign(name):
    roots = ROOT.findall(name)
    return bool(set(roots) - OWN) if roots else not OF_COMPILER.match(name)


def main():
    strangers, count = [], 0
    for archive in sys.argv[1:]:
        listed = subprocess.run(["nm", "-C", "--defined-only", "--extern-only", archive], check=True,
                                capture_output=True, text=True)
        for line in listed.stdout.splitlines():
            symbol = re.match(r"^[0-9a-f]+\s+\S\s+(.*)$", line)
            if symbol:
                count += 1
                if foreign(symbol.group(1)):
                    strangers.append(f"{archive}: {symbol.group(1)}")
    for stranger in sorted(set(strangers)):
        print(f"a name of another library: {stranger}")
    if strangers or count < 1000 or not foreign("boost::asio::io_context::run()"):
        sys.exit(1)
    print(f"{count} names, all of udtx or the standard library")


main()
