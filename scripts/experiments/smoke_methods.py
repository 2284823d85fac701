# SPDX-License-Identifier: BSD-3-Clause
"""The density of smoke from one picture at equal time, by path replay and by radiative backpropagation (figure 9
of the path replay paper, figure 6 of the radiative backpropagation paper)."""
import os
import tempfile

import equal_time
import report

SCENE = os.path.join(report.ROOT, "assets", "smoke", "scene.xml")
NAME = "smoke.sigma_t.data"
METHODS = [("prbvolpath", "path replay"), ("rb", "radiative"), ("rb_biased1", "biased I")]
START = 0.5


def run(page, tiny):
    side, spp, steps, seconds, seeds = (8, 1, 3, 0.05, 2) if tiny else (32, 4, 30, 8, 3)
    job = {"scene": SCENE, "target": {"render": True, "spp": 64 * spp, "seed": 4242}, "loss": "l2",
           "parameters": [{"name": NAME, "initial": START, "rate": 0.1, "bounds": [0, 60]}],
           "optimizer": {"type": "adam", "beta_2": 0.99}, "spp": spp, "spp_grad": spp, "seed": 1, "form": "fused"}
    with tempfile.TemporaryDirectory() as folder:
        race = equal_time.Race(page, folder, job, ["-D", "resolution=%d" % side, "-D", "spp=256", "--max-depth", 12])
        rows, curves, _ = race.run(METHODS, seconds, 4 if tiny else 2000, seeds, many=steps)
        floor = race.floor("prbvolpath")
    page.write("Density of smoke at equal time", [
        "A grid of 32 x 32 x 32 densities from one picture (`assets/smoke/scene.xml`, %d x %d pixels, %d samples per "
        "pixel, paths of up to 12 segments): l2 and Adam from a density of %g everywhere, for %g CPU seconds each. Root "
        "mean squares of what images and densities are off by, before and after, means of %d fits with different seeds and their standard errors; an image of the scene's own "
        "densities is off by %.3g by its noise alone. One view says little of the densities "
        "that lie behind others. Losses in the plot are of the steps' own noisy images, whose variance they contain." % (side, side, spp, START, seconds, seeds, floor),
        "The papers show path replay and biased radiative backpropagation converge alike at equal time (path replay, figure "
        "9, slightly more reliably), and unbiased radiative backpropagation far behind, because each of its steps costs the "
        "square of the path's length; automatic differentiation does not get through one step. Here a step of radiative "
        "backpropagation takes %.1f times as long as one of path replay, and one of Biased I %.2f times: paths scatter "
        "seldom in this thin smoke. What costs radiative backpropagation the image is noise: it estimates light anew at "
        "each vertex, and `grad --variance 40` finds twenty times the variance of path replay in its derivative by the "
        "densities."
        % (rows[1][2] / rows[0][2], rows[2][2] / rows[0][2]),
    ], equal_time.HEADER, rows,
        [{"title": "loss", "x": "CPU seconds", "y": "mean squared difference", "log_y": True, "curves": curves}])
