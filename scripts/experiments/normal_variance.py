# SPDX-License-Identifier: BSD-3-Clause
"""Variance of the gradient by a normal against roughness, with directions attached and detached."""
import os
import tempfile

import numpy as np

import report

SCENE = os.path.join(report.ASSETS, "sheet.xml")
NAME = "sheet.normalmap.value"
WAYS = [("always", "attached"), ("never", "detached")]


def variance(alpha, way, resolution, repetitions, folder, page):
    """Of one sample's derivative by the normal's first component: dL/dI is 1 everywhere, so that of the sum
    over the number of values."""
    ones, out = os.path.join(folder, "ones.pfm"), os.path.join(folder, "out")
    report.write_ones(ones, resolution)
    each = []
    for k in range(report.TIMES):
        s = report.backlight("grad", SCENE, "-D", "resolution=%d" % resolution, "-D", "alpha=%g" % alpha, "-D",
                             "attached=" + way, "--spp", 1, "--adjoint", ones, "--seed", 100000 * k,
                             "--variance", repetitions, "-o", out, "--param", NAME)
        each.append(float(np.load(os.path.join(out, NAME + ".variance.npy")).flat[0]) / resolution**2)
    page.device = s["device"]
    return report.Measured.of(each)


def slope(points):
    """Of the line of least squares through the logarithms."""
    return np.polyfit(np.log([x for x, _ in points]), np.log([y for _, y in points]), 1)[0]


def run(page, tiny):
    alphas = [0.01, 0.1] if tiny else [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3]
    resolution, repetitions = (8, 4) if tiny else (48, 100)
    with tempfile.TemporaryDirectory() as folder:
        curves = {name: [(a, variance(a, way, resolution, repetitions, folder, page)) for a in alphas]
                  for way, name in WAYS}
    rows = [["%g" % a, v, w, w.over(v)] for (a, v), (_, w) in zip(curves["attached"], curves["detached"])]
    page.write("Variance of the gradient by a normal against roughness", [
        "A sheet of rough metal (GGX) under a smooth sky (`assets/papers/sheet.xml`), %d x %d pixels of one "
        "sample. The derivative of the mean of a pixel's channels by the sheet's normal; its variance from"
        " %d times %d gradients of the whole image, with standard errors. Held directions see a lobe of roughness alpha "
        "change by 1 / alpha of itself, so the variance goes as 1 / alpha^2; samples that go along with"
        " the normal (`attached`) are as noisy at every roughness." %
        (resolution, resolution, report.TIMES, repetitions),
        "Slopes of the logarithms: attached %.2f, detached %.2f." %
        (slope(curves["attached"]), slope(curves["detached"])),
    ], ["alpha", "attached", "detached", "detached over attached"], rows, [
        {"title": "variance of one sample's derivative", "x": "alpha", "y": "variance", "log_x": True,
         "log_y": True, "curves": curves},
    ])
