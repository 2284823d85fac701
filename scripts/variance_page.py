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
# Of a parameter that has been looked into: why its product is what it is.
EDGES = ("cost: by positions alone more than half of it are passes of moving edges, which `prb` leaves out (0.153 CPU s of 128 "
         "samples, 0.064 with `--edges none`)")
GLASS = "cost, 0.86 of Mitsuba's: a gradient takes 3.6 images; variance: the same estimator, the same within the interval"
SAME = ("variance: the same estimator, detached replay, the same within the interval; cost, 0.6 of Mitsuba's: a gradient takes "
        "%.1f images")
CAUSES = {
    "smooth_glass_ior screen.emitter.radiance.data":
        "cost: a slab before a picture is little work, and a gradient takes 3.4 images (by the colour of the sky 3.1); variance is "
        "Mitsuba's",
    "shading_normals dome.vertex_positions": EDGES,
    "shading_normals dome.vertex_normals": EDGES + ", and positions are requested with it; by normals alone 0.042",
    "dielectric_rough glass.alpha.value": GLASS + "; a hundredth of the seeds has a fifth of the variance",
    "dielectric_rough glass.specular_transmittance.value": GLASS,
    "dielectric_rough glass.specular_reflectance.value": GLASS,
    "dielectric_rough glass.eta": GLASS + "; a hundredth of the seeds, near total reflection, has 0.63 of the variance",
    "plastic rough.diffuse_reflectance.value": SAME % 4.1,
    "smoke smoke.sigma_t.data": "0.998 of the variance is in empty voxels, where Mitsuba's replay has no samples and no derivative",
    **{"metal_in_glass %s" % n: "cost: ours has the derivative by `glass.eta` in the same gradient, for which Mitsuba has none"
       for n in ("metal.alpha.value", "metal.specular_reflectance.value", "floor.reflectance.value")},
    **{"principled coat.%s" % n: SAME % 3.2 for n in ("clearcoat_gloss.value", "flatness.value", "roughness.value", "sheen.value",
                                               "metallic.value", "clearcoat.value", "spec_tint.value", "base_color.value")},
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


def worst_table(found):
    ranked = found[0]
    products = ranked.figures("product")
    rows = []
    for key in sorted(products, key=lambda k: -products[k]["value"])[:WORST]:
        rows.append(["`%s`, `%s`" % key] + [text(c.figures("product").get(key)) for c in found]
                    + [text(ranked.figures("variance")[key]), CAUSES.get(" ".join(key), "")])
    return table(["parameter"] + ["product, " + c.label for c in found] + ["variance, " + ranked.label, "cause"], rows)


def assets_table(now):
    column = Column("", now, "paddedsobol", "mitsuba, independent", assets=True)
    return table(["parameter", "variance over Mitsuba's", "product", "cause"],
                 [["`%s`, `%s`" % key, text(column.figures("variance")[key]), text(f), CAUSES.get(" ".join(key), "")]
                  for key, f in column.figures("product").items()])


def left_out(found):
    reasons = {key: row[c.who]["left out"].split(":")[0] for c in found for key, row in c.rows.items()
               if "left out" in row.get(c.who, {})}
    return ["* `%s`, `%s`: %s" % (*key, reason) for key, reason in reasons.items()]


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
in equal time. Mitsuba 3.9.1 is `prb` or `prbvolpath`, in the same run. Intervals are of 95 %. The native device; *before* is commit
40b7a397. The scenes have the sampler `independent`; the last columns are ours with `ldsampler`, over Mitsuba's with the scene's own
and with `ldsampler`. All figures: [variance.csv](variance.csv).

Of these cases `dielectric_rough` alone has another variance since *before*. The others give the same values but for rounding, so their
rows are of one run, of *before*; since then they take 0.98 of the time (geometric mean, medians of three; `texture` 0.70). Both renderers
have one estimator here, detached path replay, so at equal samples from one sampler they have nearly one variance, and what is left is
time. What `ldsampler` brings, it brings Mitsuba, too: the third column says what a user gains who leaves the scene's sampler, the last
one what is ours. Columns of `ldsampler` may be of fewer cases, and are of before free flights in media were spread, too. `grad` itself
takes `paddedsobol` where a scene says `independent`."""
ASSETS_TEXT = """Scenes of `assets`, and `principled_glass`, with the sampler `independent`: parameters of which both have one mean."""
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
                    *worst_table(found), ""]
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
