#!/usr/bin/env python3
"""Runs the cells of the papers' experiments in ns-3, each in its own process. Writes results.csv, table.md,
multipath.md, acks.md and the figures (SVG).

    ./dev bench papers                      everything (see docs/lab/paper-congestion.md for how long that takes)
    ./dev bench papers --quick              one cell of each figure, one seed
    ./dev bench papers --only fairness,tsm  these experiments only: mtr, throughput, fairness, join (the
                                            congestion-degree paper); tsm, dapb, sctp (the multipath papers);
                                            acks (the ACK regeneration paper, 50 runs of each cell)
    ./dev bench papers --sweep              thresholds alpha and beta of `cd` over the fairness cells
    ./dev bench papers --sweep --only acks  the rate of the forward path in the ACK regeneration paper, which does not give it
"""
import argparse
import csv
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import cells
import multipath_cells
import tables

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "plot"))
import acks_paper  # noqa: E402  these need bench/plot
import figures  # noqa: E402
import multipath_report  # noqa: E402

WANTED = ["udt", "cd", "udtx"]
CONGESTION = ["mtr", "throughput", "fairness", "join"]
MULTIPATH = ["tsm", "dapb", "sctp"]
ACKS = ["acks"]
CELL_TIMEOUT_S = 900


def measured(args, stem, command):
    """Runs `command` and returns its JSON. With --resume, returns the JSON of an earlier run of the matrix if it
    exists."""
    kept = stem + ".json"
    if args.resume and os.path.exists(kept):
        with open(kept, encoding="utf-8") as file:
            return json.load(file)
    done = subprocess.run(command, capture_output=True, text=True, timeout=CELL_TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\nfailed: {done.stderr.strip()}")
    with open(kept + ".part", "w", encoding="utf-8") as file:
        file.write(done.stdout)
    os.replace(kept + ".part", kept)
    return json.loads(done.stdout)


def run_cell(args, cell, controller, seed, extra=()):
    """Runs one cell and returns its summary. The samples stay in files for the figures."""
    stem = os.path.join(args.out, "runs", f"{cell.slug}-{controller}-{seed}" + "".join(extra))
    command = [args.binary, *cell.args, "--controller", controller, "--seed", str(seed), *extra, "--out", stem]
    summary = measured(args, stem, command)
    if not summary["intact"]:
        raise SystemExit(f"{' '.join(command)}\nbytes arrived damaged")
    summary.update(cell=cell, stem=stem)
    if cell.experiment == "mtr":
        summary.update(tables.mtr_means(stem + ".samples.csv"))
    return summary


def run_paths(args, cell, way, way_args, seed):
    """Runs one cell with several paths and returns its summary."""
    mark = "".join(c if c.isalnum() else "-" for c in way)
    stem = os.path.join(args.out, "runs", f"{cell.slug}-{mark}-{seed}")
    binary = os.path.join(os.path.dirname(args.binary), "udtx-papers-paths")
    command = [binary, *cell.args, *way_args, "--seed", str(seed)] + (["--out", stem] if cell.samples else [])
    summary = measured(args, stem, command)
    if not summary["intact"]:
        raise SystemExit(f"{' '.join(command)}\nbytes arrived damaged")
    summary.update(cell=cell, stem=stem, way=way)
    return summary


def run_acks(args, cell, scheme, run):
    stem = os.path.join(args.out, "runs", f"{cell.slug}-{scheme}-{run}")
    binary = os.path.join(os.path.dirname(args.binary), "udtx-papers-acks")
    return measured(args, stem, [binary, *cell.args, "--scheme", scheme, "--seed", str(run)])


def run_all(args, jobs, run=run_cell):
    """Calls `run(args, *job)` for each job, in parallel. Returns the results in the order of the jobs."""
    with ThreadPoolExecutor(max_workers=args.jobs) as pool:
        pending = [pool.submit(run, args, *job) for job in jobs]
        results = []
        for done, future in enumerate(pending, 1):
            try:
                results.append(future.result())
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
            if sys.stderr.isatty() or done % 20 == 0 or done == len(pending):
                print(f"{done} of {len(pending)} runs", file=sys.stderr)
    return results


def write_csv(path, results):
    columns = [key for key in results[0] if key not in ("cell", "stem")]
    columns += [key for r in results for key in r if key.startswith("mtr_") and key not in columns]
    columns = list(dict.fromkeys(columns))
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["experiment", "name", *columns], restval="", extrasaction="ignore")
        writer.writeheader()
        for r in results:
            writer.writerow({"experiment": r["cell"].experiment, "name": r["cell"].name, **r})


def known_controllers(binary, wanted):
    known = subprocess.run([binary, "--controllers"], capture_output=True, text=True, check=True).stdout.split()
    for name in wanted:
        if name not in known:
            print(f"skipped: this build has no controller '{name}' (it has {', '.join(known)})", file=sys.stderr)
    return [name for name in wanted if name in known]


def matrix(args, controllers):
    chosen = cells.quick_cells() if args.quick else cells.all_cells()
    chosen = [c for c in chosen if not args.only or c.experiment in args.only]
    seeds = range(1, args.seeds + 1)
    results = run_all(args, [(c, name, seed) for seed in seeds for c in chosen for name in controllers])
    write_csv(os.path.join(args.out, "results.csv"), results)
    drawn = figures.draw(args.out, chosen, controllers, results)
    return tables.report(chosen, controllers, results, len(seeds)), drawn


def multipath(args):
    chosen = multipath_cells.quick_cells() if args.quick else multipath_cells.all_cells()
    chosen = [c for c in chosen if not args.only or c.experiment in args.only]
    jobs = [(c, way, extra, seed) for c in chosen for way, extra in c.ways for seed in range(1, args.seeds + 1)]
    results = run_all(args, jobs, run_paths)
    return multipath_report.report(chosen, results, args.seeds), multipath_report.draw(args.out, chosen, results)


def acks(args):
    chosen = acks_paper.quick_cells() if args.quick else acks_paper.all_cells()
    jobs = [(c, scheme, run) for run in range(1, args.acks_runs + 1) for c in chosen for scheme in acks_paper.SCHEMES]
    results = run_all(args, jobs, run_acks)
    return acks_paper.report(chosen, results, args.acks_runs), acks_paper.draw(args.out, chosen, results)


def acks_sweep(args):
    schemes = [scheme for scheme in acks_paper.SCHEMES if scheme != "udtx"]
    jobs = [(c, scheme, run) for run in range(1, args.seeds + 1) for c in acks_paper.sweep_cells() for scheme in schemes]
    return acks_paper.sweep_report(run_all(args, jobs, run_acks), args.seeds), []


def publish(args, name, text, drawn):
    path = os.path.join(args.out, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    print(text)
    print(f"written: {path}" + "".join(f", {figure}" for figure in drawn), file=sys.stderr)


def selection(text):
    names = text.split(",")
    unknown = [name for name in names if name not in CONGESTION + MULTIPATH + ACKS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no such experiment: {', '.join(unknown)}")
    return names


def sweep(args):
    chosen = cells.sweep_cells()
    seeds = range(1, args.seeds + 1)
    pairs = [(a, b) for a in (0.1, 0.3, 0.5) for b in (0.5, 0.7, 0.9)]
    plain = run_all(args, [(c, "udt", seed) for c in chosen for seed in seeds])
    jobs = [(c, "cd", seed, (f"--alpha={a}", f"--beta={b}")) for a, b in pairs for c in chosen for seed in seeds]
    results = run_all(args, jobs)
    for job, result in zip(jobs, results):
        result["thresholds"] = tuple(float(text.split("=")[1]) for text in job[3])
    return tables.sweep_report(chosen, pairs, plain, results, len(seeds)), []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/bench/papers/udtx-papers")
    parser.add_argument("--out", default="build/bench/papers")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--only", action="extend", type=selection, default=[])
    parser.add_argument("--controllers", default=",".join(WANTED))
    parser.add_argument("--seeds", type=int, help="seeds 1 to this (default 3, acks 50, with --quick 1)")
    parser.add_argument("--resume", action="store_true", help="keep the finished runs of an interrupted matrix")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    args = parser.parse_args()
    args.acks_runs = args.seeds or (1 if args.quick else acks_paper.RUNS)
    args.seeds = args.seeds or (1 if args.quick else 3)
    os.makedirs(os.path.join(args.out, "runs"), exist_ok=True)

    if args.sweep:
        publish(args, "sweep.md", *(acks_sweep if args.only == ACKS else sweep)(args))
        return
    if not args.only or set(args.only) & set(CONGESTION):
        publish(args, "table.md", *matrix(args, known_controllers(args.binary, args.controllers.split(","))))
    if not args.only or set(args.only) & set(MULTIPATH):
        publish(args, "multipath.md", *multipath(args))
    if not args.only or set(args.only) & set(ACKS):
        publish(args, "acks.md", *acks(args))


if __name__ == "__main__":
    main()
