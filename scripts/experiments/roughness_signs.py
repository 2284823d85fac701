# SPDX-License-Identifier: BSD-3-Clause
"""Signs of the gradient over initial and target roughness, by path replay and by biased radiative
backpropagation (figure 2 of the path replay paper)."""
import os
import tempfile

import numpy as np

import report

SCENE = os.path.join(report.ASSETS, "metal_in_glass.xml")
NAME = "metal.alpha.value"
METHODS = [("prb", "path replay"), ("rb", "radiative"), ("rb_biased1", "biased I")]


def gradient(method, alpha, target, side, spp, repetitions, folder, page):
    """The derivative of the mean squared difference by roughness, and its standard error."""
    out = os.path.join(folder, "out")
    s = report.backlight("grad", SCENE, "-D", "resolution=%d" % side, "-D", "alpha=%g" % alpha, "--integrator",
                         method, "--max-depth", 8, "--target", target, "--spp", spp, "--variance", repetitions,
                         "-o", out, "--param", NAME)
    page.device = s["device"]
    value, variance = (float(np.load(os.path.join(out, NAME + end)).flat[0]) for end in (".npy", ".variance.npy"))
    return value, (variance / repetitions)**0.5


def signs(rows, column):
    """Of pairs off the diagonal whose gradient is more than two standard errors from 0: how many have the sign
    that leads to the target, and how many there are."""
    known = [(float(r[0]) - float(r[1]), r[column]) for r in rows
             if r[0] != r[1] and abs(r[column]) > 2 * r[column + 1]]
    return sum(d * g > 0 for d, g in known), len(known)


def run(page, tiny):
    alphas = [0.2, 0.4] if tiny else [0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6]
    side, spp, repetitions = (8, 4, 2) if tiny else (16, 32, 12)
    rows, curves = [], {name: {} for _, name in METHODS}
    with tempfile.TemporaryDirectory() as folder:
        for goal in alphas:
            target = os.path.join(folder, "target.exr")
            report.backlight("render", SCENE, "-D", "resolution=%d" % side, "-D", "alpha=%g" % goal,
                             "--spp", 8 if tiny else 16384, "--seed", 99, "-o", target)
            for alpha in alphas:
                found = [gradient(m, alpha, target, side, spp, repetitions, folder, page) for m, _ in METHODS]
                rows.append(["%g" % alpha, "%g" % goal] + [x for f in found for x in f])
                for (_, name), (value, error) in zip(METHODS, found):
                    curves[name].setdefault("target %g" % goal, []).append((alpha, value, error))
    counts = ["%s %d of %d" % (name, *signs(rows, 2 + 2 * k)) for k, (_, name) in enumerate(METHODS)]
    diagonal = ["%s %.2g" % (name, max(abs(r[2 + 2 * k]) for r in rows if r[0] == r[1]))
                for k, (_, name) in enumerate(METHODS)]
    largest = max(abs(r[2]) for r in rows)
    page.write("Signs of the gradient over initial and target roughness", [
        "A plate of rough metal (GGX) in a shell of smooth glass, lit by a lamp off the mirrored direction (`assets/papers/metal_in_glass.xml`), %d x %d "
        "pixels, paths of up to 8 segments: the derivative of the mean squared difference by roughness, for %d "
        "initial and as many target values; the mean of %d gradients of %d samples per pixel, with its standard "
        "error. Descent leads to the target where the derivative has the sign of initial less target."
        % (side, side, len(alphas), repetitions, spp),
        "The paper (figure 2) shows a map that is zero on its diagonal for path replay and for automatic "
        "differentiation, and one with wrong signs for biased radiative backpropagation, which therefore cannot "
        "converge. Here, right signs off the diagonal among those that are known to two standard errors: %s. "
        "Largest derivative on the diagonal, where 0 is right: %s (off the diagonal, path replay reaches %.2g). "
        "Biased I takes the light that arrives to be 1 from everywhere; a lobe that becomes rougher then only "
        "loses energy below the horizon, wherever the light is." % (", ".join(counts), ", ".join(diagonal), largest),
    ], ["initial", "target"] + [c for _, n in METHODS for c in (n, "standard error")], rows,
        [{"title": name, "x": "initial roughness", "y": "derivative of the loss", "curves": curves[name]}
         for _, name in METHODS])
