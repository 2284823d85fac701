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
    side, spp, many, seconds, most, doubling, seeds = (8, 1, 3, 0.05, 4, 2, 2) if tiny else (32, 4, 30, 8, 1000, 40, 3)
    with tempfile.TemporaryDirectory() as folder:
        globe = equal_time.Race(page, folder, job_of("globe.xml", "globe.reflectance.data", 0.5, 0.02, spp, total_variation=1e-4),
                                ["-D", "resolution=%d" % side, "--max-depth", 24], doubling)
        rows, by_time, by_step = globe.run(METHODS, seconds, most, seeds, many=many)
        grid = os.path.join(folder, "ink.vol")
        ink.write_grid(grid, ink.wanted_grid(16))
        slab = equal_time.Race(page, folder, job_of("slab.xml", ink.NAME, 0.5, 0.02, spp),
                               ["-D", "resolution=%d" % side, "-D", "albedo=" + grid, "--max-depth", 24], doubling)
        more, others, steps = slab.run(IN_MEDIA, seconds, most, seeds, many=many)
        floors = [race.floor(methods[0][0]) for race, methods in ((globe, METHODS), (slab, IN_MEDIA))]
    page.write("A globe behind glass and a slab of ink at equal time", [
        "The texture of a ball in a ball of smooth glass (`assets/papers/globe.xml`, total variation) and the albedo of a scattering slab, a grid of 16 x 16 x 8 "
        "(`slab.xml`), each from a picture of %d x %d pixels, paths of up to 24 segments: l2 and Adam from 0.5 everywhere, for about %g CPU seconds each. Steps have %d samples "
        "per pixel at first, and twice as many after every %d steps, as in the paper; those of Biased II, which takes dL/dI from the step before, stay as many. Root mean squares of what images and parameters are off by, means of %d fits with "
        "different seeds and their standard errors; an image of the wanted values, of the scenes' 16 samples per pixel as all of these, is off by %.3g (globe) and %.3g (slab) by its noise "
        "alone, so images where samples doubled no longer tell methods apart. Losses in the plots are of the "
        "steps' own images, so their noise falls as samples double. Parameters stay far off where nothing sees them: the back of the ball and the depth of the slab. There Adam, "
        "which divides by the gradient's size, follows its noise, so a method that takes more steps can end further off." %
        (side, side, seconds, spp, doubling, seeds, *floors),
        "The paper (figures 1, 4 and 5) shows radiative backpropagation's biased form ahead of automatic differentiation in time, and the unbiased form behind it by "
        "iteration alone; it finds that biased gradients converge as well by iteration. Here a step of path replay costs %.2f of one of Biased I at the globe and %.2f at the slab. By step "
        "radiative backpropagation, Biased I and the tape lie together at the globe, and Biased II, whose samples stay as many, stays behind. Path replay's line is lower because it "
        "steps in two walks, whose loss is free of the noise's variance ([two walks](../theory/two_walks.md))." %
        (rows[0][2] / rows[2][2], more[0][2] / more[2][2]),
    ], ["scene"] + equal_time.HEADER, [["globe"] + r for r in rows] + [["slab"] + r for r in more],
        [{"title": title, "x": x, "y": "mean squared difference", "log_y": True, "curves": c}
         for title, x, c in (("globe", "CPU seconds", by_time), ("globe, by step", "step", by_step), ("slab", "CPU seconds", others),
                             ("slab, by step", "step", steps))])
