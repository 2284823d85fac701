# SPDX-License-Identifier: BSD-3-Clause
"""Time of a gradient step by phase: the image for the loss, and the adjoint phase (figure 7 of the radiative
backpropagation paper)."""
import os
import tempfile

import report

SIDE, SPP = 64, 16
SCENES = [
    ("Cornell box", "cornell/scene.xml", 8, "prb", ["red.reflectance.value", "white.reflectance.value"]),
    ("closed room", "papers/closed.xml", 16, "prb", ["paint.reflectance.value"]),
    ("smoke", "smoke/scene.xml", 16, "prbvolpath", ["smoke.sigma_t.data"]),
]
METHODS = [(None, "path replay", "fused"), ("rb", "radiative", "auto"), ("rb_biased1", "biased I", "auto"),
           ("rb_biased2", "biased II", "auto"), ("rb_biased1_2", "biased I and II", "auto")]


def step(scene, method, form, loss, side, spp, repetitions, folder, page):
    """CPU seconds of a gradient. loss: what gives dL/dI."""
    _, path, depth, replay, names = scene
    _, seconds = report.gradients(page, repetitions, os.path.join(report.ROOT, "assets", path), "-D",
                                  "resolution=%d" % side, "--integrator", method or replay, "--form", form,
                                  "--max-depth", depth, "--spp", spp, "-o", os.path.join(folder, "out"),
                                  *loss, "--param", *names)
    return seconds


def run(page, tiny):
    side, spp, repetitions = (8, 1, 3) if tiny else (SIDE, SPP, 14)
    rows, curves = [], {name: [] for _, name, _ in METHODS}
    with tempfile.TemporaryDirectory() as folder:
        ones, target = os.path.join(folder, "ones.pfm"), os.path.join(folder, "target.exr")
        report.write_ones(ones, side)
        for k, scene in enumerate(SCENES[:2] if tiny else SCENES):
            report.backlight("render", os.path.join(report.ROOT, "assets", scene[1]), "-D",
                             "resolution=%d" % side, "--spp", spp, "-o", target)
            for method, name, form in METHODS:
                whole, adjoint = (step(scene, method, form, loss, side, spp, repetitions, folder, page)
                                  for loss in (["--target", target], ["--adjoint", ones]))
                part = adjoint.over(whole)
                rows.append([scene[0], name, whole, adjoint, report.Measured(1 - part, part.error)])
                curves[name].append((k + 1, whole))
    page.write("Time of a gradient step by phase", [
        "%d x %d pixels, %d samples per pixel in both phases, with the depth that a scene needs (Cornell box 8, closed "
        "room 16, smoke 16). A step renders an image, finds the loss and its derivative by pixels, and runs the adjoint "
        "phase; CPU seconds, means of %d times %d with standard errors. The adjoint phase alone is a step that is given dL/dI." %
        (side, side, spp, report.TIMES, repetitions - 2),
        "The paper (figure 7) shows that Biased I makes the adjoint phase many times cheaper, and that Biased II, which "
        "takes the image that the adjoint phase of the step before has left, saves the primal phase. Here both do "
        "so. Path replay's adjoint phase walks each path twice, and costs about twice that of Biased I, without a bias. "
        "The share of the primal phase is a difference of two measurements, so it may come out below 0. Path replay's in "
        "smoke does: there it goes by differential ratio tracking, which also sets out from where there is no smoke. A step leaves out "
        "pixels whose derivative is 0, those that see nothing but the sky; the adjoint phase alone is given a derivative at each pixel.",
    ], ["scene", "method", "step, s", "adjoint phase, s", "share of the primal phase"], rows,
        [{"title": "time of a step", "x": "scene: " + ", ".join("%d %s" % (k + 1, s[0]) for k, s in enumerate(SCENES)),
          "y": "CPU seconds", "log_y": True, "curves": curves}])
