#!/usr/bin/env python3
"""Counts the instructions per packet of one connection with callgrind, and compares them with bench/baseline.json.

    counts.py PROGRAM BASELINE [--update]

Exits with 1 if a path takes over 5 % more instructions than in the baseline. --update rewrites the baseline. Counts
depend on the compiler: with another compiler than the baseline's, the program prints the differences and exits with 0.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

RISE = 1.05
LOSSES = {"clean": "0", "loss 1 %": "0.01"}
PATHS = {"udtx_measured_send": "send", "udtx_measured_receive": "receive",
         "udtx_measured_ack_send": "write ACKs", "udtx_measured_ack_receive": "read ACKs"}


def compiler_of(program):
    """The compiler's name from the program's .comment section, and the machine."""
    comment = subprocess.run(["readelf", "-p", ".comment", program], capture_output=True, text=True, check=True).stdout
    machine = os.uname().machine
    names = re.findall(r"\]\s+(.*\d+\.\d+.*)", comment)
    return f"{names[-1] if names else 'unknown'}, {machine}"


def inclusive(profile):
    """{measured function: instructions, including its callees}"""
    listed = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", profile], capture_output=True,
                            text=True, check=True).stdout
    return parse(listed)


def parse(listed):
    counts = {}
    for line in listed.splitlines():
        found = re.match(r"\s*([\d,]+)\b.*?:(udtx_measured_\w+)", line)
        if found and found[2] in PATHS:
            counts.setdefault(found[2], int(found[1].replace(",", "")))
    return counts


def count(program, loss):
    """{path: instructions per data packet}, and data packets per ACK packet."""
    with tempfile.TemporaryDirectory() as work:
        profile = os.path.join(work, "profile")
        done = subprocess.run(["valgrind", "-q", "--tool=callgrind", "--collect-atstart=no",
                               "--toggle-collect=udtx_measured_*", f"--callgrind-out-file={profile}", program, loss],
                              stdout=subprocess.PIPE, text=True, check=True)
        packets = json.loads(done.stdout)
        counts = inclusive(profile)
    missing = PATHS.keys() - counts.keys()
    if missing:
        raise SystemExit(f"callgrind has not seen {', '.join(sorted(missing))}")
    figures = {path: round(counts[name] / packets["data_packets"]) for name, path in PATHS.items()}
    return figures, packets["data_packets"] / packets["ack_packets"]


def compare(measured, baseline):
    """Rows (name, now, before or None), and messages for the counts that rose too much."""
    rows, risen = [], []
    for name, now in measured.items():
        before = baseline.get(name)
        rows.append((name, now, before))
        if before and now > before * RISE:
            risen.append(f"{name}: {now} instructions a packet, {100 * (now / before - 1):.1f} % more than {before}")
    return rows, risen


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("baseline")
    parser.add_argument("--update", action="store_true", help="write a new baseline")
    args = parser.parse_args()

    measured = {}
    for name, loss in LOSSES.items():
        figures, ratio = count(args.program, loss)
        measured.update({f"{path}, {name}": figure for path, figure in figures.items()})
        print(f"{name}: one ACK packet for {ratio:.1f} data packets")
    known = {}
    if os.path.exists(args.baseline):
        with open(args.baseline, encoding="utf-8") as file:
            known = json.load(file)
    rows, risen = compare(measured, known.get("instructions_a_packet", {}))
    print("\n| path | instructions a data packet | baseline |\n|---|---|---|")
    for name, now, before in rows:
        print(f"| {name} | {now} | {f'{before} ({100 * (now / before - 1):+.1f} %)' if before else '-'} |")
    compiler = compiler_of(args.program)
    if args.update:
        with open(args.baseline, "w", encoding="utf-8") as file:
            json.dump({"compiler": compiler, "instructions_a_packet": measured}, file, indent=2)
            file.write("\n")
        print(f"\nwritten: {args.baseline}")
        return 0
    if risen and known.get("compiler") != compiler:
        print(f"\nnot judged: the baseline is of {known.get('compiler')}, this of {compiler}")
        return 0
    for line in risen:
        print(f"RISEN {line}", file=sys.stderr)
    return 1 if risen else 0


if __name__ == "__main__":
    sys.exit(main())
