"""Reads columns of a CSV file by name."""
import csv


def to_float(text):
    """A field's number, or None if it is empty. None interrupts a drawn line."""
    return float(text) if text not in ("", None) else None


def read(path):
    """(column names, rows as dictionaries of text)"""
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        rows = list(reader)
        return reader.fieldnames or [], rows


def column(path, name):
    names, rows = read(path)
    if name not in names:
        raise SystemExit(f"{path}: no column {name!r}; it has {', '.join(names)}")
    return [to_float(row[name]) for row in rows]


def span(text):
    """'0:40', ':100' or '5:' -> (low, high); a missing number is None"""
    low, _, high = text.partition(":")
    return to_float(low), to_float(high)
