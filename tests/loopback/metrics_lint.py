#!/usr/bin/env python3
"""metrics_lint.py [FILE]: applies the rules of `promtool check metrics` to metrics in Prometheus' text format, for
machines without promtool. Without FILE it checks that each rule finds its violation. Beyond promtool: each metric has
HELP and TYPE before its samples, occurs once, and no series occurs twice."""
import re
import sys

BASE = ["amperes", "bytes", "celsius", "grams", "joules", "kelvin", "meters", "metres", "moles", "seconds", "volts"]
UNITS = {unit: unit for unit in BASE}
UNITS.update({"minutes": "seconds", "hours": "seconds", "days": "seconds", "weeks": "seconds",
              "kelvins": "kelvin", "fahrenheit": "celsius", "rankine": "celsius",
              "inches": "meters", "yards": "meters", "miles": "meters", "bits": "bytes",
              "calories": "joules", "pounds": "grams", "ounces": "grams"})
PREFIXES = ["", "pico", "nano", "micro", "milli", "centi", "deci", "deca", "hecto", "kilo", "kibi", "mega", "mibi",
            "giga", "gibi", "tera", "tebi", "peta", "pebi"]
SCALED = {prefix + unit: base for unit, base in UNITS.items() for prefix in PREFIXES}
ABBREVIATIONS = ["s", "ms", "us", "ns", "sec", "b", "kb", "mb", "gb", "tb", "pb", "m", "h", "d"]
TYPES = ["counter", "gauge", "histogram", "summary"]
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"'
SAMPLE = re.compile(rf"^({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (\S+)$")


def about_name(name, kind):
    for part in name.split("_"):
        if SCALED.get(part, part) != part:
            yield f"use base unit {SCALED[part]} instead of {part}"
    if kind == "counter" and not name.endswith("_total"):
        yield 'counter metrics should have "_total" suffix'
    if kind != "counter" and name.endswith("_total"):
        yield 'non-counter metrics should not have "_total" suffix'
    for suffix, allowed in (("_bucket", ["histogram"]), ("_count", ["histogram", "summary"]),
                            ("_sum", ["histogram", "summary"])):
        if name.endswith(suffix) and kind not in allowed:
            yield f'a {kind} should not have "{suffix}" suffix'
    padded = name.lower() + "_"
    for word in TYPES:
        if f"_{word}_" in padded:
            yield f"metric name should not include type '{word}'"
    if any(f"_{word}_" in padded for word in ABBREVIATIONS):
        yield "metric names should not contain abbreviated units"
    if ":" in name:
        yield "metric names should not contain ':'"
    if re.search("[a-z][A-Z]", name):
        yield "metric names should be written in 'snake_case' not 'camelCase'"


def about_labels(labels, kind):
    for label in labels:
        if re.search("[a-z][A-Z]", label):
            yield "label names should be written in 'snake_case' not 'camelCase'"
        if (label == "le" and kind != "histogram") or (label == "quantile" and kind != "summary"):
            yield f'a {kind} should not have the label "{label}"'


def lint(text):
    problems, helps, kinds, series, now = [], set(), {}, set(), None
    if not text.endswith("\n"):
        problems.append("the last line has no end")
    for line in text.splitlines():
        comment = re.match(rf"^# (HELP|TYPE) ({NAME}) (.+)$", line)
        if comment:
            word, name, rest = comment.groups()
            if name in (helps if word == "HELP" else kinds):
                problems.append(f"{name}: a second {word}")
            now = name
            if word == "HELP":
                helps.add(name)
            elif rest in TYPES:
                kinds[name] = rest
                problems += [f"{name}: {why}" for why in about_name(name, rest)]
            else:
                problems.append(f"{name}: the type {rest} is unknown")
            continue
        sample = SAMPLE.match(line)
        if not sample:
            problems.append(f"cannot be read: {line}")
            continue
        name, labels = sample.group(1), re.findall(LABEL, sample.group(2) or "")
        if name != now or name not in kinds:
            problems.append(f"{name}: a sample away from its TYPE")
        if name not in helps:
            problems.append(f"{name}: no help text")
        problems += [f"{name}: {why}" for why in about_labels([label for label, _ in labels], kinds.get(name, "untyped"))]
        if (name, tuple(sorted(labels))) in series:
            problems.append(f"{name}: the same series twice: {line}")
        series.add((name, tuple(sorted(labels))))
        try:
            float(sample.groups()[-1].replace("Inf", "inf"))
        except ValueError:
            problems.append(f"{name}: no number: {line}")
    if not series:
        problems.append("there is no sample")
    return problems


def self_test():
    def metric(name, kind="gauge", labels=""):
        return f"# HELP {name} Text.\n# TYPE {name} {kind}\n{name}{labels} 1\n"

    good = metric("a_bytes") + metric("a_seconds_total", "counter", '{peer="x\\"y",to="[::1]:1"}') + metric("a_ratio")
    assert lint(good) == [], lint(good)
    bad = [metric("a_bytes_done", "counter"), metric("a_files_total"), metric("a_bits_per_second"),
           metric("a_milliseconds"), metric("a_hours"), metric("a_count"), metric("a_sum"), metric("a_bucket"),
           metric("a_gauge_bytes"), metric("a_counter_total", "counter"), metric("a_rtt_ms"), metric("a:b"),
           metric("aB"), metric("a", labels='{toHost="x"}'), metric("a", labels='{le="1"}'),
           metric("a", labels='{quantile="1"}'), "# TYPE a gauge\na 1\n", "# HELP a Text.\na 1\n", metric("a") + "a 1\n",
           metric("a") * 2, metric("a") + metric("b") + 'a{x="1"} 1\n', metric("a", labels='{x="a"b"}'), "", "a one\n",
           metric("a")[:-1], metric("a", "number"), "# HELP a Text.\n# TYPE a gauge\na one\n"]
    for text in bad:
        assert lint(text), f"nothing is found in:\n{text}"


if len(sys.argv) < 2:
    self_test()
else:
    with open(sys.argv[1], encoding="utf-8") as file:
        found = lint(file.read())
    for problem in found:
        print(problem)
    sys.exit(1 if found else 0)
