# SPDX-License-Identifier: BSD-3-Clause
"""Gradients by normals and indices of refraction against plain differences of images, from smooth to very
rough."""
import os
import tempfile

import numpy as np

import report

SCENE = os.path.join(report.ASSETS, "sheet.xml")
RESOLUTION, SPP = 24, 16
# what, rough and smooth material, shape, depth, rough and smooth parameter, direction, step
CASES = [
    ("normal of metal", ("metal", "mirror"), "rectangle", 2, ("sheet.normalmap.value",) * 2, [1, 0, 0],
     0.001),
    ("normal of glass", ("glass", "clear"), "rectangle", 2, ("sheet.normalmap.value",) * 2, [1, 0, 0], 0.01),
    ("eta of glass", ("glass", "clear"), "rectangle", 2, ("glass.eta", "clear.eta"), [1], 0.01),
    ("eta of a ball of glass", ("glass", "clear"), "sphere", 6, ("glass.eta", "clear.eta"), [1], 0.01),
]


def agreement(case, alpha, seeds, folder, page):
    """What `check` finds: gradient and plain difference with their standard errors, and z. The loss is the
    mean of the red channel."""
    what, materials, shape, depth, names, direction, step = case
    smooth = alpha == 0
    weights, towards = os.path.join(folder, "weights.pfm"), os.path.join(folder, "direction.npy")
    report.write_pfm(weights, np.full((RESOLUTION, RESOLUTION, 3), [1 / RESOLUTION**2, 0, 0]))
    np.save(towards, np.array(direction, "f4"))
    s = report.backlight("check", SCENE, "-D", "resolution=%d" % RESOLUTION, "-D",
                         "material=" + materials[smooth], "-D", "alpha=%g" % (alpha or 0.1), "-D",
                         "shape=" + shape,
                         "-D", "depth=%d" % depth, "-D", "attached=always", "--param", names[smooth],
                         "--adjoint", weights, "--direction", towards, "--epsilon", step,
                         "--spp", SPP, "--seeds", seeds, "-o", os.path.join(folder, "check.png"),
                         statuses=(0, 1))
    page.device = s["device"]
    return s["parameters"][0]["gradient"], s["parameters"][0]["plain"]


def run(page, tiny):
    alphas = [0, 0.05] if tiny else [0, 0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5]
    rows, curves, zs = [], {}, []
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES[:1] if tiny else CASES:
            for alpha in alphas:
                gradient, plain = agreement(case, alpha, 2 if tiny else 24, folder, page)
                zs.append(plain["z"])
                rows.append([case[0], "smooth" if alpha == 0 else "%g" % alpha, gradient["value"],
                             gradient["std_err"], plain["value"], plain["std_err"], plain["z"]])
                for way, d in (("gradient", gradient), ("difference", plain)):
                    points = curves.setdefault(case[0], {}).setdefault(way, [])
                    points.append((alpha, d["value"], d["std_err"]))
    page.write("Attached gradients against differences of images, by roughness", [
        "A sheet, or a ball, of metal or glass (GGX; smooth: the plugins without roughness) amid a smooth "
        "sky, where nothing has an edge in view (`assets/papers/sheet.xml`), %d x %d pixels, %d samples per "
        "pixel, %d seeds: the derivative of the image's mean red by a component of the normal, or by the "
        "index of refraction (the ball with up to six segments, inner reflections included), with "
        "directions attached at every roughness (`attached` is `always`); differences are central, of whole "
        "images with the same random numbers, and share no code with gradients. Bars in the plots are one "
        "standard error to both sides."
        % (RESOLUTION, RESOLUTION, SPP, 2 if tiny else 24),
        "Root mean square of z: %.2f; the largest: %.1f of %d. Rows of a kind share their random numbers, so "
        "their z go together. A smooth mirror's derivative has next to no noise: there z counts"
        " roundings of the differences. At 0.5 some tenths of a percent are missing by eta: light sampling "
        "does not see that refraction by GGX ends with a step, where facets are vertical."
        % (np.sqrt(np.mean(np.square(zs))), max(map(abs, zs)), len(zs)),
    ], ["derivative by", "alpha", "gradient", "standard error", "difference", "standard error", "z"], rows, [
        {"title": what, "x": "alpha", "y": "derivative", "curves": c} for what, c in curves.items()
    ])
