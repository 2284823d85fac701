#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The page variance of docs/experiments, its .csv and .svg, of what runs of scripts/compare-variance wrote by --json.

A run may have what another lacks: their figures are put together. A pair over alone, for one, can be told with fewer
samples than a comparison with Mitsuba needs."""
import argparse
import csv
import json
import math
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "scripts", "experiments"))
import plot  # noqa: E402
import variance_cases  # noqa: E402

ASSETS = [case.name for case in variance_cases.asset_cases()]

WORST = 10
# Of parameters whose product is near 1 by some sampler: why.
EDGES = ("cost: passes of moving edges by positions, which `prb` leaves out (0.072 CPU s of 128 samples by both, 0.030 with `--edges "
         "none`, 0.015 by normals alone); less than a hundredth of the variance is of edges here")
GLASS = "a gradient takes 3.0 images, and paths within the glass are long"
METAL = "cost: ours has the derivative by `glass.eta` in the same gradient, for which Mitsuba has none"
CAUSES = {
    "smooth_glass_ior screen.emitter.radiance.data":
        "cost: a slab before a picture is little work, and a gradient takes 2.7 images",
    **{"shading_normals dome.vertex_%s" % n: EDGES for n in ("positions", "normals")},
    **{"dielectric_rough glass.%s" % n: GLASS
       for n in ("alpha.value", "specular_transmittance.value", "specular_reflectance.value", "eta")},
    **{"metal_in_glass %s" % n: METAL for n in ("metal.alpha.value", "metal.specular_reflectance.value", "floor.reflectance.value")},
}


def read(paths):
    """rows: sampler -> (case, parameter) -> figures, of figures that two runs have those of the later, those beside Mitsuba by
    "mitsuba, ITS SAMPLER"; ways; commands"""
    out = {"rows": {}, "ways": {}, "commands": []}
    for path in paths:
        with open(path) as f:
            run = json.load(f)
        out["commands"].append(re.sub(r" --json \S+", "", run["command"]))
        out["ways"].update(run["summary"].get("ways", {}))
        rows, first = out["rows"].setdefault(run["sampler"], {}), "mitsuba, " + run["mitsuba sampler"][0]
        for case, found in run["cases"].items():
            for name, row in found["parameters"].items():
                into = rows.setdefault((case, name), {})
                into.update((first if k == "mitsuba" else k, v) for k, v in row.items() if v)
    out["commands"] = [re.sub(" +", " ", c) for c in merged(out["commands"])]
    return out


def merged(commands):
    """Runs of one case each that differ in nothing else: as one command without the case."""
    names = [case.name for case in variance_cases.reference_cases()]
    found = {}
    for command in commands:
        words = command.split()
        case = words[1] if len(words) > 1 and words[1] in names + ASSETS else ""
        found.setdefault(" ".join([words[0]] + words[1 + bool(case):]), []).append(case)
    for command, cases in found.items():
        cases = list(dict.fromkeys(c for c in cases if c))
        if sorted(cases) != names:  # of all cases none is named
            command = command.replace("scripts/compare-variance", "scripts/compare-variance " + " ".join(cases), 1)
        yield command


def text(f):
    return "%.3g (%.2g .. %.2g)" % (f["value"], *f["interval"]) if f else ""


def worst_pair(row):
    """other, figure"""
    found = {other: f for other, f in row.get("pairs", {}).items() if f}
    return max(found.items(), key=lambda of: of[1]["value"], default=("", None))


def geometric_mean(figures):
    """(case, parameter) -> figure; what one case has in common, as its costs, is in all of its figures."""
    logs, spread = [math.log(f["value"]) for f in figures.values()], {}
    for (case, _), f in figures.items():
        spread[case] = spread.get(case, 0) + f["log_deviation"]
    mean, error = sum(logs) / len(logs), 1.96 * math.sqrt(sum(s * s for s in spread.values())) / len(logs)
    return {"value": math.exp(mean), "interval": [math.exp(mean - error), math.exp(mean + error)]}


class Column:
    """One comparison with Mitsuba: of the rows of a run, those of reference cases, or of assets."""

    def __init__(self, label, run, sampler, who, assets=False):
        self.label, self.who = label, who
        self.rows = {k: r for k, r in run["rows"].get(sampler, {}).items() if (k[0] in ASSETS) == assets}

    def figures(self, what):
        return {k: r[self.who][what] for k, r in self.rows.items() if what in r.get(self.who, {})}


DEFAULT, SCENE, LDSAMPLER = "default over the scene's", "both `independent`", "default over `ldsampler`"


def columns(now):
    found = [Column(DEFAULT, now, "paddedsobol", "mitsuba, independent"),
             Column(SCENE, now, "independent", "mitsuba, independent"),
             Column(LDSAMPLER, now, "paddedsobol", "mitsuba, ldsampler")]
    return [c for c in found if c.figures("product")]


# ---- parts of the page ----

def table(header, rows):
    return ["| %s |" % " | ".join(cells) for cells in [header, ["---"] + ["---:"] * (len(header) - 1), *rows]]


def mitsuba_table(found):
    def row(title, what, figure_of):
        return [title] + [text(figure_of(c.figures(what))) for c in found]

    def largest(figures):
        return max(figures.values(), key=lambda f: f["value"])

    rows = [["parameters"] + [str(len(c.figures("product"))) for c in found],
            row("product, geometric mean (asked: 0.25)", "product", geometric_mean),
            row("product, the largest", "product", largest),
            ["products whose interval is not below 1 (asked: 0)"] + [str(sum(f["interval"][1] >= 1 for f in c.figures("product").values()))
                                                          for c in found],
            row("variance at equal samples, geometric mean", "variance", geometric_mean)]
    return table(["ours over Mitsuba's"] + [c.label for c in found], rows)


def together_table(now):
    rows = []
    for title, limit, figures_of in (
            ("all together", 1.5, lambda row: [("", row.get("together over alone"))]),
            ("a pair", 1.3, lambda row: list(row.get("pairs", {}).items()))):
        cells = [title]
        for sampler in ("paddedsobol", "independent"):
            figures = [(f["value"], "`%s`, `%s`%s" % (*k, " with `%s`" % other if other else ""), f)
                       for k, row in now["rows"].get(sampler, {}).items() for other, f in figures_of(row) if f]
            value, of, f = max(figures, key=lambda v: v[0], default=(0, "", None))
            beyond = sum(f["interval"][0] > limit for _, _, f in figures)
            cells += ["%s, %s" % (text(f), of) if value > 1 else text(f), "%d of %d" % (beyond, len(figures))]
        rows.append(cells + ["%g" % limit])
    return table(["over alone", "the largest, default", "surely above", "the largest, `independent`", "surely above", "limit"], rows)


def cause(key, found):
    """Cost beside Mitsuba's, what the default's sampler brings, and what is known besides."""
    default = found[0].figures("variance")[key]["value"]
    out = ["cost %.2g of Mitsuba's" % (found[0].figures("product")[key]["value"] / default)]
    independent = found[1].figures("variance").get(key) if len(found) > 1 else None
    if independent:
        out.append("variance %.2g of that of `independent`" % (default / independent["value"]))
    known = CAUSES.get(" ".join(key))
    return "; ".join(out + [known] if known else out)


def worst_table(found):
    products = found[0].figures("product")
    rows = [["`%s`, `%s`" % key] + [text(c.figures("product").get(key)) for c in found] + [cause(key, found)]
            for key in sorted(products, key=lambda k: -products[k]["value"])[:WORST]]
    return table(["parameter"] + ["product, " + c.label for c in found] + ["why"], rows)


def not_below(found):
    """Of each comparison the products whose interval is not below 1; then why, where that is known."""
    known = {}
    for c in found:
        wide = {k: f for k, f in c.figures("product").items() if f["interval"][1] >= 1}
        if wide:
            names = ["`%s`, `%s` %s" % (*k, text(f)) for k, f in sorted(wide.items(), key=lambda kf: -kf[1]["value"])]
            yield "* %s: %s." % (c.label, "; ".join(names))
        else:
            yield "* %s: none." % c.label
        for key in wide:
            known.setdefault(CAUSES.get(" ".join(key)), {})["`%s`, `%s`" % key] = None
    for why, keys in known.items():
        if why:
            yield "* Why %s: %s." % ("; ".join(keys), why)


def assets_table(now):
    column = Column("", now, "paddedsobol", "mitsuba, independent", assets=True)
    return table(["parameter", "variance over Mitsuba's", "product", "why"],
                 [["`%s`, `%s`" % key, text(column.figures("variance")[key]), text(f), CAUSES.get(" ".join(key), "")]
                  for key, f in column.figures("product").items()])


def left_out(found):
    reasons = {}  # parameter, reason -> comparisons
    for c in found:
        for key, row in c.rows.items():
            if "left out" in row.get(c.who, {}):
                reasons.setdefault((key, row[c.who]["left out"].split(":")[0]), []).append(c.label)
    return ["* `%s`, `%s`: %s%s" % (*key, reason, "" if len(labels) == len(found) else " (%s)" % "; ".join(labels))
            for (key, reason), labels in reasons.items()]


def ways_table(now):
    return table(["way", "variance", "cost", "product", "cases"],
                 [[way] + [text(f[k]) for k in ("variance", "cost", "product")] + [str(f["cases"])]
                  for way, f in now["ways"].items()])


def ranks(figures):
    return list(enumerate(sorted(f["value"] for f in figures if f), 1))


def panels(now, found):
    together = {}
    for label, sampler in (("default", "paddedsobol"), ("independent", "independent")):
        rows = now["rows"].get(sampler, {}).values()
        together["all, " + label] = ranks(r.get("together over alone") for r in rows)
        together["worst pair, " + label] = ranks(worst_pair(r)[1] for r in rows)
    for title, curves in (
            ("Product over Mitsuba's", {c.label.replace("`", ""): ranks(c.figures("product").values()) for c in found}),
            ("Variance over Mitsuba's, equal samples",
             {c.label.replace("`", ""): ranks(c.figures("variance").values()) for c in found}),
            ("Variance over that of the parameter alone", together)):
        curves = {n: c for n, c in curves.items() if c}
        if curves:
            yield {"title": title, "x": "parameters, by rank", "y": "ratio", "log_y": True, "curves": curves}


def csv_rows(now, found):
    def cells(f):
        return ["%.4g" % v for v in (f["value"], *f["interval"])] if f else ["", "", ""]

    samplers = ["paddedsobol", "independent"]
    titles = ["%s, %s" % (what, s) for s in samplers for what in ("together over alone", "worst pair over alone")]
    titles += ["%s, %s" % (what, c.label.replace("`", "")) for c in found for what in ("variance", "product")]
    yield ["case", "parameter"] + [w for t in titles for w in (t, "low", "high")]
    for key in dict.fromkeys(k for rows in now["rows"].values() for k in rows):
        rows = [now["rows"].get(s, {}).get(key, {}) for s in samplers]
        figures = [f for row in rows for f in (row.get("together over alone"), worst_pair(row)[1])]
        figures += [c.figures(what).get(key) for c in found for what in ("variance", "product")]
        yield [*key] + [w for f in figures for w in cells(f)]


TITLE = "Variance times cost of gradients, beside Mitsuba 3"
HEAD = """Ratios of a gradient of the [reference cases](../../tests/reference/README.md), by all of their parameters that both have and get
right: variance summed over a parameter's entries, user CPU time of the gradient, and their product. Below 1, Backlight is less noisy
in equal time. Mitsuba 3.9.1 is `prb` or `prbvolpath`, in the same run. Intervals are of 95 %. The native device, with other work on the
machine. All figures of this page are of one program, commit ccd871a5, and in [variance.csv](variance.csv).

* **default over the scene's**: what a user gets by default. The scenes say `independent`. Mitsuba takes that, `grad` takes `paddedsobol` there. The
  goals are for this column.
* **both `independent`**: one estimator, detached path replay, and one sampler. So variances are nearly the same, and what is left is time.
* **default over `ldsampler`**: what is left of the gain for one who gives Mitsuba a sampler that spreads its numbers, too."""
ASSETS_TEXT = """Scenes of `assets`, and `principled_glass`, the default over the scene's sampler: parameters of which both have one mean."""
TOGETHER = """Variance of a parameter that is requested with all others, or with one, over that of the parameter alone: reference cases,
`principled_glass` and `metal_in_glass`. *Surely above*: all of the interval is above the limit."""
WAYS = """Each over `separate`, `independent`, `uniform`; geometric means over parameters and cases. *dL/dI of an image*: the loss is
that against a picture, so that the image's noise is in dL/dI; without these words dL/dI is given. `orthogonal` takes 25 samples where
16 are asked for, 18 in two walks: its variance is not at equal samples, its product is right."""


def page(now, found):
    yield from ["# " + TITLE, "", "Made by `scripts/variance_page.py` of what these wrote:", "", "```"]
    yield from dict.fromkeys(now["commands"])
    yield from ["```", ""]
    if found:
        yield from [HEAD, "", *mitsuba_table(found), "", "![%s](variance.svg)" % TITLE, "", "## The worst ten", "",
                    *worst_table(found), "", "Products whose interval is not below 1:", "", *not_below(found), ""]
    assets = assets_table(now)
    if len(assets) > 2:
        yield from ["## Other scenes", "", ASSETS_TEXT, "", *assets, ""]
    yield from ["## Together over alone", "", TOGETHER, "", *together_table(now), ""]
    if now["ways"]:
        yield from ["## Forms, samplers, pixels", "", WAYS, "", *ways_table(now), ""]
    if found:
        yield from ["## Left out", "", "Parameters of which Mitsuba has no gradient, or not the reference's.", "", *left_out(found), ""]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("runs", nargs="+", metavar="RUN.json", help="what compare-variance wrote")
    p.add_argument("-o", "--output", metavar="FOLDER", default=os.path.join(ROOT, "docs", "experiments"))
    o = p.parse_args()
    now = read(o.runs)
    found = columns(now)
    path = os.path.join(o.output, "variance")
    with open(path + ".csv", "w", newline="") as f:
        csv.writer(f, lineterminator="\n").writerows(csv_rows(now, found))
    with open(path + ".svg", "w") as f:
        f.write(plot.svg(list(panels(now, found))))
    with open(path + ".md", "w") as f:
        f.write("\n".join(page(now, found)))


if __name__ == "__main__":
    main()
