# SPDX-License-Identifier: BSD-3-Clause
"""The index of refraction of glass from what is seen through it, with directions attached and detached."""
import tempfile

import report

TRUTH, STARTS = 1.5, (1.35, 1.7)
WAYS = [("prb", "attached"), ("prb_detached", "detached")]


def run(page, tiny):
    steps, curves, losses, rows = 2 if tiny else 40, {}, {}, []
    for start in STARTS[:1] if tiny else STARTS:
        for integrator, way in WAYS:
            runs = []
            for seed in range(report.TIMES):
                with tempfile.TemporaryDirectory() as folder:
                    result, columns = report.fit("glass.xml",
                                                 {"name": "glass.eta", "initial": start, "bounds": [1.05, 2.5],
                                                  "rate": 0.4}, folder, steps, 2 if tiny else 8,
                                                 "--integrator", integrator, "--max-depth", 5,
                                                 optimizer={"type": "sgd"}, seed=1 + seed)
                runs.append((columns["glass.eta"][-1], columns["loss"][0], columns["loss"][-1]))
            page.device = result["device"]
            name = "%s, from %g" % (way, start)
            values = [start] + list(columns["glass.eta"])
            curves[name] = list(enumerate(values))
            losses[name] = list(zip(columns["step"], columns["loss"]))
            eta, *loss = report.Measured.columns(runs)
            rows.append([way, start, eta, report.Measured(abs(eta - TRUTH), eta.error), *loss])
    curves["truth"] = [(0, TRUTH), (steps, TRUTH)]
    page.write("Index of refraction of smooth glass from what is seen through it", [
        "A tilted slab of smooth glass in front of a shining picture (`assets/papers/glass.xml`), 24 x 24 "
        "pixels, 8 samples per pixel, %d steps of gradient descent. The index says where in the"
        " picture a refracted ray ends. Attached path replay (`--integrator prb`) follows it there; detached "
        "sampling (`--integrator prb_detached`) sees the Fresnel coefficients alone. The more it"
        " reflects, the less contrast there is: that has the right sign here, but is a small part of the "
        "derivative, so with the same rate the detached fit crawls"
        " (and an optimiser that divides by the gradient's size, as Adam does, would hide it: what is wrong "
        "is the size). The table has means of %d fits with other random numbers, with standard errors; the plot the last of them."
        % (steps, report.TIMES),
        "The losses are unbiased estimates in two walks, so that noise can make them negative: there the "
        "plot has gaps.",
    ], ["way", "start", "found", "error", "first loss", "last loss"], rows, [
        {"title": "index of refraction", "x": "step", "y": "eta", "curves": curves},
        {"title": "loss", "x": "step", "y": "mean squared difference", "log_y": True, "curves": losses},
    ])
