# SPDX-License-Identifier: BSD-3-Clause
"""Signs of the gradient over initial and target roughness, by path replay and by biased radiative
backpropagation (figure 2 of the path replay paper)."""
import os
import tempfile

import numpy as np

import report

SCENE = os.path.join(report.ASSETS, "metal_in_glass.xml")
NAME = "metal.alpha.value"
STEP = 0.01  # of roughness, of the differences
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


def image(path, alpha, side, spp, seed):
    """Renders the picture to this file and returns it."""
    report.backlight("render", SCENE, "-D", "resolution=%d" % side, "-D", "alpha=%g" % alpha, "--max-depth", 8,
                     "--spp", spp, "--seed", seed, "-o", path)
    return report.read_pfm(path)


def slopes(pairs, target):
    """The loss's slope and its standard error: differences of the loss of pairs of pictures, at roughnesses
    STEP to either side, with equal seeds in a pair."""
    each = [(((up - target)**2).mean() - ((down - target)**2).mean()) / (2 * STEP) for down, up in pairs]
    return np.mean(each), np.std(each, ddof=1) / len(each)**0.5


def signs(rows, column):
    """Of pairs of roughnesses whose slope and gradient are both more than two standard errors from 0: how many
    gradients have the slope's sign, and how many there are."""
    known = [r[2] * r[column] for r in rows if abs(r[2]) > 2 * r[3] and abs(r[column]) > 2 * r[column + 1]]
    return sum(p > 0 for p in known), len(known)


def run(page, tiny):
    alphas = [0.2, 0.4] if tiny else [0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6]
    side, spp, repetitions = (8, 4, 2) if tiny else (16, 512, 16)
    many, seeds = (8, 2) if tiny else (16384, 6)
    rows, curves = [], {name: {} for _, name in METHODS}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "around.pfm")
        around = {a: [[image(path, a + d, side, many, seed) for d in (-STEP, STEP)] for seed in range(seeds)]
                  for a in alphas}
        for goal in alphas:
            target = os.path.join(folder, "target.pfm")
            picture = image(target, goal, side, many, 99)
            for alpha in alphas:
                slope = slopes(around[alpha], picture)
                found = [gradient(m, alpha, target, side, spp, repetitions, folder, page) for m, _ in METHODS]
                rows.append(["%g" % alpha, "%g" % goal, *slope] + [x for f in found for x in f])
                for (_, name), (value, error) in zip(METHODS, found):
                    curves[name].setdefault("target %g" % goal, []).append((alpha, value, error))
    counts = ["%s %d of %d" % (name, *signs(rows, 4 + 2 * k)) for k, (_, name) in enumerate(METHODS)]
    diagonal = ["%s %.2g" % (name, max(abs(r[4 + 2 * k]) for r in rows if r[0] == r[1]))
                for k, (_, name) in enumerate(METHODS)]
    away = sum((float(r[0]) - float(r[1])) * r[2] < 0 for r in rows if abs(r[2]) > 2 * r[3])
    largest = max(abs(r[4]) for r in rows)
    page.write("Signs of the gradient over initial and target roughness", [
        "A plate of rough metal (GGX) in a shell of smooth glass, lit by a lamp off the mirrored direction (`assets/papers/metal_in_glass.xml`), %d x %d "
        "pixels, paths of up to 8 segments: the derivative of the mean squared difference by roughness, for %d "
        "initial and as many target values; the mean of %d gradients of %d samples per pixel, with its standard "
        "error. Samples of light through the shell are rare and bright: with 32 samples per pixel so few gradients "
        "miss them, and their standard errors are too small. The right sign is that of the loss's own slope: the difference of the loss "
        "between roughnesses %g to either side, of pictures with %d samples per pixel and equal seeds, over %d seeds."
        % (side, side, len(alphas), repetitions, spp, STEP, many, seeds),
        "The paper (figure 2) shows a map that is zero on its diagonal for path replay and for automatic "
        "differentiation, and one with wrong signs for biased radiative backpropagation, which therefore cannot "
        "converge. Here, right signs among pairs of which slope and gradient are known to two standard errors: %s. "
        "The loss has a second hill: the plate is brightest at a middle roughness, so in %d pairs the true slope "
        "leads away from the target, and a right gradient follows it. "
        "Largest derivative on the diagonal, where 0 is right: %s (off the diagonal, path replay reaches %.2g). "
        "Biased I takes the light that arrives to be 1 from everywhere; a lobe that becomes rougher then only "
        "loses energy below the horizon, wherever the light is." % (", ".join(counts), away, ", ".join(diagonal), largest),
    ], ["initial", "target", "slope of the loss", "standard error"] + [c for _, n in METHODS for c in (n, "standard error")], rows,
        [{"title": name, "x": "initial roughness", "y": "derivative of the loss", "curves": curves[name]}
         for _, name in METHODS])
