#!/usr/bin/env python3
"""Draws columns of CSV files as lines into an SVG file.

    lines.py -o out.svg --title "Three flows" --x "time, s" --y "Mbit/s" \\
        "flow 1=flows.csv:time_s:flow1_mbps" "flow 2=flows.csv:time_s:flow2_mbps"
"""
import argparse

import chart
import table


def series_of(text, style):
    label, _, rest = text.partition("=")
    parts = rest.rsplit(":", 2)
    if len(parts) != 3:
        raise SystemExit(f"{text!r} is not LABEL=FILE:X_COLUMN:Y_COLUMN")
    path, x_name, y_name = parts
    return chart.Series(label, table.column(path, x_name), table.column(path, y_name), style)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--title", default="")
    parser.add_argument("--x", default="", help="label of the x axis")
    parser.add_argument("--y", default="", help="label of the y axis")
    parser.add_argument("--style", choices=chart.STYLES, default="line")
    parser.add_argument("--x-range", type=table.span, default=(None, None), metavar="LOW:HIGH")
    parser.add_argument("--y-range", type=table.span, default=(None, None), metavar="LOW:HIGH")
    parser.add_argument("series", nargs="+", metavar="LABEL=FILE:X_COLUMN:Y_COLUMN")
    args = parser.parse_args()
    panel = chart.Panel(args.title, args.x, args.y, [series_of(s, args.style) for s in args.series], args.x_range,
                        args.y_range)
    with open(args.output, "w", encoding="utf-8") as out:
        out.write(chart.figure([panel]))


if __name__ == "__main__":
    main()
