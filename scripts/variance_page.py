#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The page variance of docs/experiments, its .csv and .svg, of what runs of scripts/compare-variance wrote by --json.

A run may have what another lacks: their figures are put together. A pair over alone, for one, can be told with fewer
samples than a comparison with Mitsuba needs. --before: runs of an earlier program, for the columns beside."""
import argparse
import csv
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "scripts", "experiments"))
import plot  # noqa: E402

WORST = 10
# Of a parameter that has been looked into: why its product is what it is.
CAUSES = {}


def read(paths):
    """One run of several: of figures that two have, those of the later."""
    out = {"summary": {}, "cases": {}, "commands": []}
    for path in paths:
        with open(path) as f:
            run = json.load(f)
        out["commands"].append(run["command"])
        out["summary"].update(run["summary"])
        for case, found in run["cases"].items():
            into = out["cases"].setdefault(case, {})
            rows = into.setdefault("parameters", {})
            for name, row in found["parameters"].items():
                rows[name] = {**rows.get(name, {}), **{k: v for k, v in row.items() if v}}
            into.update((k, v) for k, v in found.items() if k != "parameters" and v)
    return out


def rows_of(run):
    return {(case, name): row for case, found in run["cases"].items() for name, row in found["parameters"].items()}


def figure(f, what="%.3g (%.2g .. %.2g)"):
    return what % (f["value"], *f["interval"]) if f else ""


def mitsuba(row, what):
    return row.get("mitsuba", {}).get(what)


def worst_pair(row):
    found = [(f["value"], other, f) for other, f in row.get("pairs", {}).items() if f]
    return max(found, key=lambda v: v[0]) if found else (0, "", None)


# ---- parts of the page ----

SUMMARY = [("geometric mean of products over Mitsuba's", "product over Mitsuba's", "geometric mean"),
           ("the largest product", "product over Mitsuba's", "largest"),
           ("products, each parameter alone: geometric mean", "product alone over Mitsuba's", "geometric mean"),
           ("the largest of these", "product alone over Mitsuba's", "largest"),
           ("variance at equal samples over Mitsuba's: geometric mean", "variance over Mitsuba's", "geometric mean"),
           ("all together over alone: the largest", "all together", "largest"),
           ("a pair over alone: the largest", "a pair", "largest")]


def summary_table(now, before):
    lines = ["| | before | now | of |", "|---|---:|---:|---|"]
    for title, what, key in SUMMARY:
        cells = [figure(run["summary"].get(what, {}).get(key)) for run in (before, now)]
        of = now["summary"].get(what, {})
        lines.append("| %s | %s | %s |" % (title, " | ".join(cells), "%d parameters" % of.get("parameters", 0)
                                           if key == "geometric mean" else "`%s`" % of.get("of", "")))
    return lines


def over_limits(now):
    for what in ("all together", "a pair"):
        found = now["summary"].get(what)
        if found:
            yield "%s over alone: %d lie above %g with all of their interval%s" % (
                what[0].upper() + what[1:], len(found["beyond"]), found["limit"],
                ": " + ", ".join("`%s`" % n for n in found["beyond"]) + "." if found["beyond"] else ".")
    found = now["summary"].get("product over Mitsuba's")
    if found:
        yield "Products over Mitsuba's whose interval reaches 1 or more: %d of %d." % (len(found["not below 1"]),
                                                                                     found["parameters"])


def worst_table(now, before):
    rows, then = rows_of(now), rows_of(before)
    known = sorted((k for k, r in rows.items() if mitsuba(r, "product")), key=lambda k: -rows[k]["mitsuba"]["product"]["value"])
    lines = ["| parameter | product over Mitsuba's | before | variance | cause |", "|---|---:|---:|---:|---|"]
    for key in known[:WORST]:
        lines.append("| `%s`, `%s` | %s | %s | %s | %s |" % (
            *key, figure(mitsuba(rows[key], "product")), figure(mitsuba(then.get(key, {}), "product")),
            figure(mitsuba(rows[key], "variance")), CAUSES.get(" ".join(key), "not looked into")))
    return lines


def left_out(now):
    return ["* `%s`, `%s`: %s" % (*key, mitsuba(row, "left out").split(":")[0]) for key, row in rows_of(now).items()
            if mitsuba(row, "left out")]


def ways_table(now):
    lines = ["| way | variance | cost | product | cases |", "|---|---:|---:|---:|---:|"]
    for way, f in now["summary"].get("ways", {}).items():
        lines.append("| %s | %s | %d |" % (way, " | ".join(figure(f[k]) for k in ("variance", "cost", "product")), f["cases"]))
    return lines


def ranks(values):
    return list(enumerate(sorted(v for v in values if v), 1))


def panels(now, before):
    def products(run, what):
        return ranks(f["value"] for f in (mitsuba(r, what) for r in rows_of(run).values()) if f)

    def togethers(run):
        return ranks(f["value"] for f in (r.get("together over alone") for r in rows_of(run).values()) if f)

    def pairs(run):
        return ranks(worst_pair(r)[0] for r in rows_of(run).values())

    for title, curves in (
            ("Product of variance and CPU time over Mitsuba's", {"before": products(before, "product"),
                                                                 "now": products(now, "product")}),
            ("Variance at equal samples over Mitsuba's", {"before": products(before, "variance"),
                                                          "now": products(now, "variance")}),
            ("Variance over that of the parameter alone", {"all, before": togethers(before), "all, now": togethers(now),
                                                           "worst pair, before": pairs(before), "worst pair, now": pairs(now)})):
        curves = {n: c for n, c in curves.items() if c}
        if curves:
            yield {"title": title, "x": "parameters, by rank", "y": "ratio", "log_y": True, "curves": curves}


COLUMNS = ["case", "parameter", "together over alone", "low", "high", "worst pair over alone", "low", "high", "with",
           "variance over Mitsuba's", "low", "high", "product over Mitsuba's", "low", "high", "product alone over Mitsuba's",
           "low", "high", "left out", "product before", "low", "high"]


def csv_rows(now, before):
    def cells(f):
        return ["%.4g" % v for v in (f["value"], *f["interval"])] if f else ["", "", ""]

    then = rows_of(before)
    for key, row in rows_of(now).items():
        pair = worst_pair(row)
        yield [*key, *cells(row.get("together over alone")), *cells(pair[2]), pair[1], *cells(mitsuba(row, "variance")),
               *cells(mitsuba(row, "product")), *cells(mitsuba(row, "product alone")), mitsuba(row, "left out") or "",
               *cells(mitsuba(then.get(key, {}), "product"))]


TITLE = "Variance times cost of gradients, beside Mitsuba 3"
HEAD = """Every parameter of the [reference cases](../../tests/reference/README.md), one gradient of all of them: the variance summed over
the parameter's entries, times the CPU time of the gradient. Ratios below 1: Backlight's is less noisy in equal time. Mitsuba 3.9.1 is
`prb` or `prbvolpath`, in the same run. Intervals are of 95 %, by bootstrap over seeds. A parameter counts where both agree with the
reference. *Before*: commit 40b7a397. All figures: [variance.csv](variance.csv)."""
WAYS = """Each over `separate`, `independent`, `uniform`; geometric means over parameters and cases. *dL/dI of an image*: the loss is
that against a picture, so the image's noise is in dL/dI; without these words dL/dI is given."""


def write(folder, now, before):
    with open(os.path.join(folder, "variance.csv"), "w", newline="") as f:
        csv.writer(f, lineterminator="\n").writerows([COLUMNS, *csv_rows(now, before)])
    with open(os.path.join(folder, "variance.svg"), "w") as f:
        f.write(plot.svg(list(panels(now, before))))
    lines = ["# " + TITLE, "", "Made by `scripts/variance_page.py` of the figures of", "", "```", *now["commands"], "```",
             "", HEAD, "", *summary_table(now, before), "", *[t + "\n" for t in over_limits(now)],
             "![%s](variance.svg)" % TITLE, "", "## The worst ten", "", *worst_table(now, before), "",
             "## Forms, samplers, pixels", "", WAYS, "", *ways_table(now), "", "## Left out", "",
             "Parameters of which the two have not the same right gradient.", "", *left_out(now), ""]
    with open(os.path.join(folder, "variance.md"), "w") as f:
        f.write("\n".join(lines))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("runs", nargs="+", metavar="RUN.json", help="of the program as it is")
    p.add_argument("--before", nargs="+", metavar="RUN.json", default=[], help="of an earlier program")
    p.add_argument("-o", "--output", metavar="FOLDER", default=os.path.join(ROOT, "docs", "experiments"))
    o = p.parse_args()
    write(o.output, read(o.runs), read(o.before))


if __name__ == "__main__":
    main()
