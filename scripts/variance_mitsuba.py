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


def run(case, prepared, o):
    """gradients: name -> seeds x entries; seconds of each, of all together, then of each parameter alone"""
    shared = other_script.load("compare-mitsuba")
    if not os.path.exists(shared.PYTHON):
        raise cases.Failed("Mitsuba is not there: scripts/setup --mitsuba")
    out = os.path.join(prepared.folder, "_mitsuba.npz")
    job = {"scene": prepared.scene("independent"), "defines": dict(d.split("=") for d in case.defines), "out": out,
           "adjoint": prepared.adjoint(), "spp": o.spp, "count": o.seeds, "timed": TIMED, "sizes": prepared.sizes,
           "groups": [case.parameters] + ([] if o.together else [[n] for n in case.parameters])}
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


def beside(case, prepared, together, out, o):
    """Adds to `out`, of `compare`: cost over Mitsuba's, and in the row of each parameter `mitsuba`: why it does not
    count, or ratios of variance and product, together and alone."""
    theirs, seconds = run(case, prepared, o)
    costs = [statistics.mean_of_rounds(s, "%s mitsuba %d" % (case.name, k)) if s else None
             for k, s in enumerate(seconds)]
    if not costs[0]:
        return
    out["mitsuba cost"], out["cost over Mitsuba"] = costs[0], together.cost / costs[0]
    for k, (name, row) in enumerate(out["parameters"].items()):
        wrong = right(case, name, together.gradients, theirs)
        variance = statistics.variance(theirs[name], case.name + " mitsuba") if name in theirs else None
        if wrong or not variance or not row["together"]:
            row["mitsuba"] = {"left out": wrong or "no variance"}
            continue
        row["mitsuba"] = {"variance": row["together"] / variance,
                          "product": row["together"] / variance * out["cost over Mitsuba"]}
        if not o.together:
            row["mitsuba"]["variance alone"] = row["alone"] / variance
            row["mitsuba"]["product alone"] = row["mitsuba"]["variance alone"] * (row["cost"] / costs[1 + k])
