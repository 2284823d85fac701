# SPDX-License-Identifier: BSD-3-Clause
"""The texture of a globe behind glass and the colours of a scattering slab at equal time, by path replay, radiative
backpropagation and its biased forms, and a stored tape (figures 1, 4 and 5 of the radiative backpropagation paper)."""
import os
import tempfile

import equal_time
import ink
import report

METHODS = [("prb", "path replay"), ("rb", "radiative"), ("rb_biased1", "biased I"), ("rb_biased2", "biased II"), ("tape", "stored tape")]
IN_MEDIA = [("prbvolpath", "path replay"), ("rb", "radiative"), ("rb_biased1", "biased I")]


def job_of(scene, name, initial, rate, spp, **rest):
    return {"scene": os.path.join(report.ASSETS, scene), "target": {"render": True, "spp": 64 * spp, "seed": 4242}, "loss": "l2",
            "parameters": [{"name": name, "initial": initial, "rate": rate, "bounds": [0, 1], **rest}],
            "optimizer": {"type": "adam", "beta_2": 0.99}, "spp": spp, "spp_grad": spp, "seed": 1}


def run(page, tiny):
    side, spp, many, seconds, most = (8, 1, 3, 0.05, 4) if tiny else (32, 8, 20, 20, 1000)
    with tempfile.TemporaryDirectory() as folder:
        globe = equal_time.Race(page, folder, job_of("globe.xml", "globe.reflectance.data", 0.5, 0.02, spp, total_variation=1e-4),
                                ["-D", "resolution=%d" % side, "--max-depth", 24])
        rows, curves = globe.run(METHODS, seconds, most, many=many)
        grid = os.path.join(folder, "ink.vol")
        ink.write_grid(grid, ink.wanted_grid(16))
        slab = equal_time.Race(page, folder, job_of("slab.xml", ink.NAME, 0.5, 0.02, spp),
                               ["-D", "resolution=%d" % side, "-D", "albedo=" + grid, "--max-depth", 24])
        more, others = slab.run(IN_MEDIA, seconds, most, many=many)
    page.write("A globe behind glass and a slab of ink at equal time", [
        "The texture of a ball in a ball of smooth glass (`assets/papers/globe.xml`, total variation) and the albedo of a scattering slab, a grid of 16 x 16 x 8 "
        "(`slab.xml`), each from a picture of %d x %d pixels with %d samples per pixel, paths of up to 24 segments: l2 and Adam from 0.5 everywhere, "
        "for %g CPU seconds each. Root mean squares of what images and parameters are off by. Losses in the plots are of the "
        "steps' own images. Parameters stay far off where nothing sees them: the back of the ball and the depth of the slab. There Adam, which divides "
        "by the gradient's size, follows its noise, so a method that takes more steps can end further off." % (side, side, spp, seconds),
        "The paper (figures 1, 4 and 5) shows radiative backpropagation's biased form ahead of automatic differentiation in time, and the unbiased form behind it by "
        "iteration alone. Here a step of path replay costs %.2f of one of Biased I at the globe and %.2f at the slab." %
        (rows[0][2] / rows[2][2], more[0][2] / more[2][2]),
    ], ["scene"] + equal_time.HEADER, [["globe"] + r for r in rows] + [["slab"] + r for r in more],
        [{"title": title, "x": "CPU seconds", "y": "mean squared difference", "log_y": True, "curves": c}
         for title, c in (("globe", curves), ("slab", others))])
