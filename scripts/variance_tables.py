# SPDX-License-Identifier: BSD-3-Clause
"""What scripts/compare-variance tells: tables on the terminal, a summary, and the same for JSON."""
import itertools
import json
import sys

import numpy as np

import variance_statistics as statistics

LIMITS = {"all together": 1.5, "a pair": 1.3}


def plain(what):
    """For JSON: Figures as their values, ways by their words."""
    if isinstance(what, statistics.Figure):
        return what.json()
    if isinstance(what, dict):
        return {k if isinstance(k, str) else " ".join(k): plain(v) for k, v in what.items()}
    return what


def text(figure):
    return figure.text() if figure else "no variance"


def table(header, rows):
    return "\n".join("| %s |" % " | ".join(row) for row in [header, ["---"] + ["---:"] * (len(header) - 1)] + rows)


def earlier(o):
    """An earlier run's JSON, or None."""
    if not o.before:
        return None
    with open(o.before) as f:
        before = json.load(f)
    if before["spp"] != o.spp or before["device"] != o.device:
        sys.exit("compare-variance: %s is of %d samples on %s" % (o.before, before["spp"], before["device"]))
    return before


def since(now, before, case, name):
    """Ratio of variances to those of an earlier run. Its seeds were the same, but how they go together is not known:
    as if independent."""
    then = before["cases"].get(case, {}).get("parameters", {}).get(name, {}).get("together")
    if not now or not then:
        return ""
    spread = 1.96 * np.hypot(now.deviation, then["log_deviation"])
    r = now.value / then["value"]
    return "%.3g (%.2g .. %.2g)" % (r, r * np.exp(-spread), r * np.exp(spread))


def largest(figures):
    """name, Figure of the largest; of none: None"""
    return max(((n, f) for n, f in figures.items() if f), key=lambda nf: nf[1].log, default=None)


def relative(row):
    return "%.3g" % (row["together"].value / row["square"]) if row["together"] and row["square"] else "0"


def parameter_table(name, rows, before):
    columns = {"parameter": lambda n, r: n, "relative variance": lambda n, r: relative(r)}
    some = next(iter(rows.values()))
    if "alone" in some:
        columns["together over alone"] = lambda n, r: text(r["together over alone"])
    if any(r["pairs"] for r in rows.values()):
        def pair(n, r):
            found = largest(r["pairs"])
            return "%s, with %s" % (found[1].text(), found[0]) if found and found[1].log > 1e-6 else "1"
        columns["worst pair over alone"] = pair
    for who in [k for k in some if k.startswith("mitsuba")]:
        for column, key in (("variance over %s", "variance"), ("product over %s", "product"),
                            ("product alone over %s", "product alone")):
            if any(key in r[who] for r in rows.values()):
                columns[column % who.capitalize()] = lambda n, r, key=key, who=who: (
                    text(r[who][key]) if key in r[who] else r[who].get("left out", "").split(":")[0])
    if before:
        columns["together over before"] = lambda n, r: since(r["together"], before, name, n)
    return table(list(columns), [[cell(n, r) for cell in columns.values()] for n, r in rows.items()])


def way_text(way):
    return ", ".join([way.form, way.sampler] + (["adjoint pixels"] if way.pixels == "adjoint" else [])
                     + (["dL/dI of an image"] if way.towards == "picture" else []))


def show(name, found, before):
    print("\n### %s\n\n%s" % (name, parameter_table(name, found["parameters"], before)))
    if found["costs"]:
        print("\nCPU seconds of a gradient of all: " + "; ".join("%s %s" % (w, f.text()) for w, f in found["costs"].items()))
    if "ways" in found:
        print("\n" + table(["way", "variance", "cost", "product"],
                           [[way_text(way)] + [r[k].text() for k in ("variance", "cost", "product")] if isinstance(r, dict)
                            else [way_text(way), r, "", ""] for way, r in found["ways"].items()]))
    sys.stdout.flush()


# ---- over all cases ----

def rows_of(results):
    return {"%s %s" % (case, n): r for case, found in results.items() for n, r in found["parameters"].items()}


def summarise(results):
    rows, out = rows_of(results), {}
    for what, figures in (
            ("all together", {n: r.get("together over alone") for n, r in rows.items()}),
            ("a pair", {"%s with %s" % (n, other): f for n, r in rows.items() for other, f in r["pairs"].items()})):
        worst = largest(figures)
        if worst:
            beyond = [n for n, f in figures.items() if f and f.interval[0] > LIMITS[what]]
            out[what] = {"largest": worst[1].json(), "of": worst[0], "limit": LIMITS[what], "beyond": beyond}
            print("\n%s over alone: the largest is %s, of %s; above %g with all of the interval: %d of %d"
                  % (what, worst[1].text(), worst[0], LIMITS[what], len(beyond), len(figures)))
    whos = dict.fromkeys(k for r in rows.values() for k in r if k.startswith("mitsuba"))
    for who, what in itertools.product(whos, ("variance", "product", "product alone")):
        figures = {n: r[who][what] for n, r in rows.items() if what in r.get(who, {})}
        if figures:
            mean, worst = statistics.geometric_mean(list(figures.values())), largest(figures)
            beyond = [n for n, f in figures.items() if f.interval[1] > 1]
            out["%s over %s" % (what, who.capitalize())] = {"parameters": len(figures), "geometric mean": mean.json(), "of": worst[0],
                                               "largest": worst[1].json(), "not below 1": beyond}
            print("\n%s over %s, of %d parameters: geometric mean %s; the largest is %s, of %s; not below 1 with "
                  "all of the interval: %d" % (what, who.capitalize(), len(figures), mean.text(), worst[1].text(), worst[0], len(beyond)))
    ways = summarise_ways(results)
    if ways:
        out["ways"] = plain(ways)
        print("\n" + table(["way", "variance", "cost", "product", "cases"],
                           [[way] + [r[k].text() for k in ("variance", "cost", "product")] + [str(r["cases"])]
                            for way, r in ways.items()]))
    return out


def summarise_ways(results):
    """way -> geometric means over cases"""
    found = {}
    for case in results.values():
        for way, r in case.get("ways", {}).items():
            if isinstance(r, dict):
                found.setdefault(way_text(way), []).append(r)
    return {way: dict({k: statistics.geometric_mean([r[k] for r in rs]) for k in ("variance", "cost", "product")},
                      cases=len(rs)) for way, rs in found.items()}
