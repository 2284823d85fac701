# SPDX-License-Identifier: BSD-3-Clause
"""Time and memory of a gradient step against the depth of paths."""
import os
import tempfile

import report

SCENE = os.path.join(report.ASSETS, "closed.xml")
METHODS = [("prb", "path replay"), ("tape", "stored tape"), ("rb", "radiative"), ("rb_biased1", "biased I"),
           ("rb_biased2", "biased II")]
QUADRATIC = ["rb", "rb_biased2"]
SIDE, MOST = 24, 100
PARAMETERS = ["paint.reflectance.value", "lamp.radiance.value"]


def step(method, depth, target, folder, repetitions, page):
    """CPU seconds of a step, and MiB."""
    s, seconds = report.gradients(page, repetitions, SCENE, "-D", "resolution=%d" % SIDE, "--integrator", method, "--max-depth",
                                  depth, "--target", target, "-o", folder, "--param", *PARAMETERS)
    return seconds, s["memory"]["device_bytes"] / 2**20


def run(page, tiny):
    depths = [2, 4, 8] if tiny else [2, 4, 8, 16, 32, 64, 128]
    times, memory = {name: [] for _, name in METHODS}, {name: [] for _, name in METHODS}
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "target.exr")
        report.backlight("render", SCENE, "-D", "resolution=%d" % SIDE, "--spp", 16, "-o", target)
        for depth in depths:
            for method, name in METHODS:
                seconds, size = step(method, depth, target, os.path.join(folder, "out"),
                                     3 if tiny else max(3, min(MOST, 2000 // depth**(2 if method in QUADRATIC else 1)) + 2), page)
                times[name].append((depth, seconds)), memory[name].append((depth, size))
    header = ["depth"] + ["%s, s" % n for _, n in METHODS] + ["%s, MiB" % n for _, n in METHODS]
    rows = [[str(d)] + [times[n][k][1] for _, n in METHODS] + [memory[n][k][1] for _, n in METHODS]
            for k, d in enumerate(depths)]
    grows = ", ".join("%s %.2f" % (n, report.exponent(times[n][-3], times[n][-1])) for _, n in METHODS)
    page.write("Gradient time and memory against path depth", [
        "A closed room of %d x %d pixels and 2 samples per pixel, in which all paths are as long as depth "
        "allows. A step is image, loss and gradient; of biased II, which"
        " takes the image that the gradient pass before has left, the gradient pass alone. CPU seconds with the "
        "standard errors of %d measurements; memory is all of the job's buffers." % (SIDE, SIDE, report.TIMES),
        "Exponent of time in depth over the last two octaves: %s. Vertices visited grow with depth for path "
        "replay, biased I and the tape, and with its square for radiative backpropagation; the tape alone "
        "takes memory in proportion to depth: %.1f MiB at depth %d, path replay %.2f, the three radiative "
        "ones %.2f (one line in the plot)."
        % (grows, memory["stored tape"][-1][1], depths[-1], memory["path replay"][-1][1],
           memory["radiative"][-1][1]),
    ], header, rows, [
        {"title": "time of a step", "x": "depth", "y": "seconds", "log_x": True, "log_y": True,
         "curves": times},
        {"title": "memory", "x": "depth", "y": "MiB", "log_x": True, "log_y": True, "curves": memory},
    ])
