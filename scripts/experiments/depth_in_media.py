# SPDX-License-Identifier: BSD-3-Clause
"""Time of an albedo's gradient in a scattering dielectric against the depth of paths (figure 6 of the path
replay paper)."""
import os
import tempfile

import numpy as np

import report

SCENE = os.path.join(report.ASSETS, "milk.xml")
NAME = "milk.albedo.value.value"
METHODS = [("prbvolpath", "path replay"), ("rb", "radiative"), ("rb_biased1", "biased I")]


def gradient(method, depth, side, repetitions, folder, page):
    """CPU seconds of a gradient, MiB, and the sum of the derivatives with its standard error."""
    ones, out = os.path.join(folder, "ones.pfm"), os.path.join(folder, "out")
    report.write_ones(ones, side)
    s, seconds = report.gradients(page, repetitions, SCENE, "-D", "resolution=%d" % side, "--integrator", method, "--max-depth",
                         depth, "--adjoint", ones, "--spp", 2, "-o", out, "--param", NAME)
    value = np.load(os.path.join(out, NAME + ".npy")).astype(float).sum() / side**2
    error = (np.load(os.path.join(out, NAME + ".variance.npy")).astype(float).sum() / repetitions)**0.5 / side**2
    return seconds, s["memory"]["device_bytes"] / 2**20, value, error


def run(page, tiny):
    depths = [2, 4, 8] if tiny else [2, 4, 8, 16, 32, 64, 128]
    side, most = (6, 3) if tiny else (32, 100)
    times, rows, zs = {name: [] for _, name in METHODS}, [], []
    with tempfile.TemporaryDirectory() as folder:
        for depth in depths:
            repetitions = max(min(most, 2000 // depth), 3)
            found = [gradient(m, depth, side, repetitions, folder, page) for m, _ in METHODS]
            for (_, name), f in zip(METHODS, found):
                times[name].append((depth, f[0]))
            (_, memory, a, e), (_, _, b, d) = found[:2]
            if e * e + d * d > 0:
                zs.append(abs(a - b) / (e * e + d * d)**0.5)
            rows.append([str(depth)] + [f[0] for f in found] + [memory] + [x for f in found for x in f[2:]])
    page.write("Gradient time in a scattering dielectric against path depth", [
        "A camera inside a block of milky glass (`assets/papers/milk.xml`), %d x %d pixels, 2 samples per pixel; "
        "nearly all paths are as long as depth allows. The derivative of the mean pixel by the albedo, summed "
        "over its channels, and CPU seconds of a gradient: the means of 15 (depth 128) to 100; memory is all of the "
        "job's buffers with path replay, which keeps more of short paths." % (side, side),
        "The paper (figure 6) shows the time of unbiased radiative backpropagation grow with the square of depth, "
        "that of path replay linearly, and automatic differentiation out of memory at a depth of some ten. Here "
        "the exponents over the last two octaves are %s; memory does not grow with depth. Radiative "
        "backpropagation and path replay have the same mean (largest |z| %.1f). Biased I is as cheap as path "
        "replay, and its derivative is that of a medium in which light of 1 arrives everywhere. The stored tape "
        "does not walk media; among surfaces, where it does, [depth](depth.md) has its memory, which grows by "
        "312 bytes per vertex and sample: at 640 x 360 pixels of one sample, a depth of 128 takes 8.6 GiB."
        % (", ".join("%s %.2f" % (name, report.exponent(times[name][-3], times[name][-1])) for _, name in METHODS), max(zs, default=0)),
    ], ["depth"] + ["%s, s" % n for _, n in METHODS] + ["MiB"] +
        [c for _, n in METHODS for c in (n, "standard error")], rows,
        [{"title": "time of a gradient", "x": "depth", "y": "seconds", "log_x": True, "log_y": True,
          "curves": times}])
