# SPDX-License-Identifier: BSD-3-Clause
"""Time of a gradient against samples, relative to a stored tape (figure 8 of the radiative backpropagation
paper)."""
import os
import tempfile

import report

SCENE = os.path.join(report.ROOT, "assets", "cornell", "scene.xml")
NAMES = ["red.reflectance.value", "white.reflectance.value"]
METHODS = [("tape", "stored tape"), ("prb", "path replay"), ("rb", "radiative"), ("rb_biased1", "biased I")]
DEPTH = 8


def gradient(method, side, spp, folder, page):
    """CPU seconds and MiB of a gradient."""
    ones = os.path.join(folder, "ones.pfm")
    report.write_ones(ones, side)
    s, seconds = report.gradients(page, min(60, 12 + 400 // spp), SCENE, "-D", "resolution=%d" % side,
                                  "--integrator", method, "--max-depth", DEPTH, "--adjoint", ones, "--spp", spp,
                                  "-o", os.path.join(folder, "out"), "--param", *NAMES)
    return seconds, s["memory"]["device_bytes"] / 2**20


def run(page, tiny):
    side, counts = (8, [1, 2, 4]) if tiny else (64, [1, 2, 4, 8, 16, 32, 64, 128])
    rows, times, memory = [], {n: [] for _, n in METHODS}, {n: [] for _, n in METHODS}
    with tempfile.TemporaryDirectory() as folder:
        for spp in counts:
            found = [gradient(m, side, spp, folder, page) for m, _ in METHODS]
            for (_, name), (seconds, size) in zip(METHODS, found):
                times[name].append((spp, seconds)), memory[name].append((spp, size))
            rows.append([str(spp)] + [s for s, _ in found] + [found[0][0].over(s) for s, _ in found[1:]] +
                        [found[0][1], found[1][1]])
    faster = ", ".join("%s %s" % (n, format(rows[-1][len(METHODS) + k], ".2f")) for k, (_, n) in enumerate(METHODS) if k)
    page.write("Gradient time against samples, relative to a stored tape", [
        "The Cornell box, %d x %d pixels, paths of up to %d segments; the adjoint phase by two walls' colours. CPU "
        "seconds of a gradient, with the standard errors of %d measurements." % (side, side, DEPTH, report.TIMES),
        "The paper (figure 8) shows radiative backpropagation faster than automatic differentiation by up to three "
        "orders of magnitude, once the transcript of a wavefront no longer fits and is made in several passes. Here "
        "the tape holds the vertices' values alone, 312 bytes each, and is one kernel's work, so what is left of the gap "
        "is memory traffic: at %s samples, times as fast as the tape: %s. The tape takes %.0f MiB there, path replay %.1f."
        % (counts[-1], faster, rows[-1][-2], rows[-1][-1]),
    ], ["samples"] + ["%s, s" % n for _, n in METHODS] + ["tape over " + n for _, n in METHODS[1:]] +
        ["tape, MiB", "path replay, MiB"], rows, [
            {"title": "time of a gradient", "x": "samples per pixel", "y": "CPU seconds", "log_x": True, "log_y": True,
             "curves": times},
            {"title": "memory", "x": "samples per pixel", "y": "MiB", "log_x": True, "log_y": True, "curves": memory}])
