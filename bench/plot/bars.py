#!/usr/bin/env python3
"""Draws columns of a CSV file as grouped bars, one group per row, into an SVG file.

    bars.py -o out.svg --title "Goodput" --y "Mbit/s" --group cell --values udt,cd,udtx results.csv
"""
import argparse

import chart
import table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--title", default="")
    parser.add_argument("--y", default="", help="label of the y axis")
    parser.add_argument("--group", required=True, help="column that names the groups")
    parser.add_argument("--values", required=True, help="columns of the bars, separated by commas")
    parser.add_argument("--y-range", type=table.span, default=(None, None), metavar="LOW:HIGH")
    parser.add_argument("file")
    args = parser.parse_args()
    labels = args.values.split(",")
    names, rows = table.read(args.file)
    missing = [name for name in [args.group, *labels] if name not in names]
    if missing:
        raise SystemExit(f"{args.file}: no column {missing[0]!r}; it has {', '.join(names)}")
    bars = chart.Bars(args.title, args.y, [row[args.group] for row in rows], labels,
                      [[table.to_float(row[name]) for name in labels] for row in rows], args.y_range)
    with open(args.output, "w", encoding="utf-8") as out:
        out.write(chart.figure([bars]))


if __name__ == "__main__":
    main()
