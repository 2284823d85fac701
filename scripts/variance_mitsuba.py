# SPDX-License-Identifier: BSD-3-Clause
"""Mitsuba's gradients for scripts/compare-variance, beside ours: scripts/mitsuba_variance.py takes them."""
import json
import os
import sys

import numpy as np

import other_script
import variance_cases as cases
import variance_statistics as statistics

TIMED, Z_MOST, RELATIVE = 8, 5.0, 0.01
sys.path.insert(0, cases.REFERENCE)
import judge  # noqa: E402


def offered(case):
    """Parameters of which Mitsuba's replay has a gradient, and that of the reference; a case without one: all."""
    return [n for n in case.parameters
            if not case.expected or case.expected["parameters"][n].get("check", {}).get("agree")]


def run(case, prepared, o, sampler):
    """gradients: name -> seeds x entries; seconds of each, of all together, then of each parameter alone"""
    shared = other_script.load("compare-mitsuba")
    if not os.path.exists(shared.PYTHON):
        raise cases.Failed("Mitsuba is not there: scripts/setup --mitsuba")
    out = os.path.join(prepared.folder, "_mitsuba.npz")
    job = {"scene": prepared.scene(sampler), "defines": dict(d.split("=") for d in case.defines), "out": out,
           "adjoint": prepared.adjoint(), "spp": o.spp, "count": o.seeds, "timed": TIMED, "sizes": prepared.sizes,
           "groups": [offered(case)] + ([] if o.together else [[n] for n in offered(case)])}
    path = os.path.join(prepared.folder, "_mitsuba.json")
    with open(path, "w") as f:
        json.dump(job, f)
    script = os.path.join(cases.ROOT, "scripts", "mitsuba_variance.py")
    try:
        text, _ = shared.mitsuba_process([script, path], 1800)
    except RuntimeError as reason:
        raise cases.Failed("Mitsuba, %s: %s" % (case.name, reason))
    found = np.load(out)
    return {n: found[n] for n in found.files}, json.loads(text.strip().splitlines()[-1])


def right(case, name, ours, theirs):
    """Of ours and Mitsuba's gradients, which are right: a text for what is not, or None."""
    if name not in offered(case):
        return "Mitsuba has none, or a wrong one"
    if name not in theirs or not np.any(theirs[name]):
        return "Mitsuba has none"
    if case.expected:
        for who, rows in (("Backlight's", ours[name]), ("Mitsuba's", theirs[name])):
            verdict, text = judge.judge(os.path.dirname(case.scene), case.expected["parameters"][name], list(rows))
            if verdict is False:
                return "%s is wrong: %s" % (who, text)
        return None
    (a, se_a), (b, se_b) = (judge.mean_and_error(rows[name]) for rows in (ours, theirs))
    allowed = Z_MOST * np.sqrt(np.sum(se_a ** 2 + se_b ** 2)) + RELATIVE * np.linalg.norm(b)
    return None if np.linalg.norm(a - b) <= allowed else "means differ"


def over(variance, cost, theirs, costs, row):
    """Ratios of one parameter, together and, where the row has it, alone. costs: Mitsuba's of both."""
    out = {"variance": variance / theirs, "product": variance / theirs * (cost / costs[0])}
    if row.get("alone") and costs[1]:
        out["variance alone"] = row["alone"] / theirs
        out["product alone"] = out["variance alone"] * (row["cost"] / costs[1])
    return out


def beside(case, together, rows, prepared, o):
    """Costs of a gradient of all parameters that Mitsuba has, ours and, by its samplers, Mitsuba's. Adds to the row of
    each parameter why it does not count, or ratios of variance and product. `together`: ours, measured with them."""
    names, out = offered(case), {"cost": together.cost}
    for k, sampler in enumerate(o.mitsuba_sampler):
        key = "mitsuba" if k == 0 else "mitsuba, " + sampler
        theirs, seconds = run(case, prepared, o, sampler)
        costs = [statistics.mean_of_rounds(s, "%s %s %d" % (case.name, sampler, g)) if s else None
                 for g, s in enumerate(seconds)] + [None] * len(names)
        out[key + " cost"] = costs[0]
        for name, row in rows.items():
            wrong, variance = right(case, name, together.gradients, theirs), None
            if not wrong:
                variance = statistics.variance(theirs[name], "%s mitsuba %s" % (case.name, sampler))
            if variance and together.variances[name]:
                alone = costs[1 + names.index(name)]
                row[key] = over(together.variances[name], together.cost, variance, (costs[0], alone), row)
            else:
                row[key] = {"left out": wrong or "no variance"}
    return out
