# SPDX-License-Identifier: BSD-3-Clause
"""Attached gradients by inverted Jacobians, without and with noise on their diagonals (figure 4 of the path
replay paper)."""
import os
import tempfile

import numpy as np

import report

SCENE = os.path.join(report.ASSETS, "cups.xml")
NAMES = ["ridges.normalmap.value", "glass.eta"]
WAYS = [("visits", 0), ("jacobians", 0), ("jacobians", 0.001), ("jacobians", 0.01), ("jacobians", 0.1)]


def gradient(chains, size, side, spp, repetitions, seed, folder, page):
    """Mean and standard error of the derivatives by the normal's first component and by the index, and how
    many chains were dropped per sample."""
    ones, out = os.path.join(folder, "ones.pfm"), os.path.join(folder, "out")
    report.write_ones(ones, side)
    s = report.backlight("grad", SCENE, "-D", "resolution=%d" % side, "-D", "chains=" + chains, "-D",
                         "lambda=%g" % size, "--adjoint", ones, "--spp", spp, "--variance", repetitions,
                         "--seed", seed, "-o", out, "--param", *NAMES)
    page.device = s["device"]
    found = []
    for name in NAMES:
        value = np.load(os.path.join(out, name + ".npy")).astype(float).flat[0]
        error = (np.load(os.path.join(out, name + ".variance.npy")).astype(float).flat[0] / repetitions)**0.5
        found.append((value / side**2, error / side**2))
    return found, sum(s["singular"]) / (side**2 * spp * repetitions), min(s["time"]["repetitions"])


def run(page, tiny):
    side, spp, repetitions = (8, 2, 2) if tiny else (32, 16, 200)
    rows, curves, results = [], {name: [] for name in NAMES}, []
    with tempfile.TemporaryDirectory() as folder:
        for k, (chains, size) in enumerate(WAYS):
            results.append(gradient(chains, size, side, spp, repetitions, 100000 * k, folder, page))
    reference = results[0][0]
    for (chains, size), (found, dropped, seconds) in zip(WAYS, results):
        zs = [(v - r) / (e * e + f * f)**0.5 for (v, e), (r, f) in zip(found, reference)]
        first = chains == "visits"
        rows.append([chains, None if first else "%g" % size] +
                    [x for (v, e), z in zip(found, zs) for x in (v, e, None if first else z)] +
                    [dropped, seconds])
        for name, (v, e) in zip(NAMES, found):
            curves[name].append((-4 if first else -3.5 if size == 0 else np.log10(size), v, e))
    page.write("Attached gradients without and with regularization", [
        "Two blocks of ridged glass on a textured table under a sky (`assets/papers/cups.xml`), %d x %d pixels, "
        "%d samples per pixel, paths of up to 9 segments: the derivative of the mean pixel by the normal of the "
        "ridges and by the index of refraction, from %d gradients each, with other random numbers in each row."
        % (side, side, spp, repetitions),
        "The paper (figure 4) shows a gradient that is NaN nearly everywhere without regularization, since the "
        "table's Jacobian is singular, and next to that of automatic differentiation with noise of size 0.01. "
        "Here a chain ends at the table unless the next vertex is glass; so without noise the chains that go on "
        "are dropped and counted (%.3g of a chain per sample), and the means lack them. With noise no chain is "
        "dropped. z compares with the default way, which inverts nothing; its |z| is at most %.1f with noise. "
        "Noise of mean 0 does not change the mean, whatever its size; small noise lets the inverses of singular "
        "matrices grow, but each is divided out again." %
        (results[1][1], max(abs(z) for r in rows[2:] for z in (r[4], r[7]))),
    ], ["chains", "noise", "by the normal", "standard error", "z", "by the index", "standard error", "z",
        "dropped per sample", "seconds"], rows,
        [{"title": "by " + name, "x": "log10 of noise (-3.5: none; -4: visits)", "y": "derivative",
          "curves": {name: curves[name]}} for name in NAMES])
