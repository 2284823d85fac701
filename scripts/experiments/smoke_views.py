# SPDX-License-Identifier: BSD-3-Clause
"""Smoke from one picture and from nine, seen from where no picture was taken (figures 11 and 12 of the Mitsuba 2 paper)."""
import json
import math
import os
import tempfile

import numpy as np

import montage
import report

SCENE = os.path.join(report.ROOT, "assets", "smoke", "scene.xml")
NAME = "smoke.sigma_t.data"
VIEWS, NOVEL, START, SEEDS = 9, 3, 1, 3


def camera(turn, height):
    """A view from a distance of 4.2, so many turns around the cube."""
    a, flat = 2 * math.pi * turn, math.sqrt(4.2**2 - height**2)
    return {"target": {"render": True, "spp": 256},
            "to_world": {"origin": [flat * math.sin(a), height, flat * math.cos(a)], "target": [0, 0, 0], "up": [0, 1, 0]}}


def fit(page, views, spp, steps, side, seed, folder):
    """The fit's result.json, and its folder."""
    seen = [camera(k / VIEWS, (0.4, 0.9, -0.6)[k % 3]) for k in range(VIEWS)][:views]
    novel = [camera((k * VIEWS / NOVEL + 1.5) / VIEWS, 0.2) for k in range(NOVEL)]
    grids = (4, 8) if side < 16 else (8, 16, 32)
    job = {"scene": SCENE, "views": seen + novel, "held_out": list(range(views, views + NOVEL)), "loss": "l1",
           "parameters": [{"name": NAME, "initial": START, "bounds": [0, 50], "total_variation": 0.003, "smoothing": 0.1}],
           "optimizer": {"type": "adam", "rate": 0.2},
           "schedule": [{"step": steps + 1, "factor": 0.5}, {"step": 2 * steps + 1, "factor": 0.25},
                        {"step": 2 * steps + steps // 2 + 1, "factor": 0.1}],
           "stages": [{"steps": steps, "resolution": {NAME: [n, n, n]}} for n in grids], "spp": spp, "seed": seed}
    path, out = os.path.join(folder, "job.json"), os.path.join(folder, "views_%d_%d" % (views, seed))
    with open(path, "w") as f:
        json.dump(job, f)
    said, seconds = report.timed("fit", path, "-D", "resolution=%d" % side, "-o", out)
    with open(os.path.join(out, "result.json")) as f:
        result = json.load(f)
    page.device = result["device"]
    return result, seconds, out


def picture(page, folders):
    """The first novel view as both fits have it and as it is, each pixel four times."""
    names = [os.path.join(folders[0], "after_1.png"), os.path.join(folders[1], "after_%d.png" % VIEWS),
             os.path.join(folders[0], "target_1.png")]
    tiles = []
    for name in names:
        width, height, rows = montage.read(name)
        tile = np.frombuffer(b"".join(rows), np.uint8).reshape(height, width, 3)
        tiles.append(tile)
    page.picture(report.enlarged(np.concatenate(tiles, 1), 4))


def run(page, tiny):
    side, steps, spp = (8, 2, 2) if tiny else (40, 30, 8)
    rows, errors, folders = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for views in (1, VIEWS):
            runs, by_view = [], []
            for seed in range(1, 1 + SEEDS):
                result, seconds, out = fit(page, views, spp * VIEWS // views, steps, side, seed, folder)
                each, found = [10 ** (-v["psnr"] / 20) for v in result["held_out"]["per_view"]], result["parameters"][0]
                runs.append((result["evaluation"]["after"]["rmse"], np.sqrt(np.mean(np.square(each))), result["held_out"]["ssim"],
                             found["rms_error"], seconds))
                by_view.append(each)
            *seen, last, seconds = report.Measured.columns(runs)
            rows.append([str(views), *seen, found["first_rms_error"], last, seconds])
            errors.append(report.Measured.columns(by_view))
            folders.append(out)
        ratio = rows[1][2].over(rows[0][2])
        picture(page, folders)
    page.write("Smoke from one view and from nine", [
        "The densities of `assets/smoke/scene.xml` from %d x %d pixels of one view, and of nine around it, from a density of %g "
        "everywhere: L1, Adam, total variation, three stages of %d steps in which the grid grows to 32 x 32 x 32. A step takes as many samples in "
        "both: %d per pixel of the one view, %d of each of the nine. *Novel* are three views from between, which no step sees. "
        "Means of %d fits with other random numbers, with standard errors." %
        (side, side, START, steps, spp * VIEWS, spp, SEEDS),
        "![Novel view](smoke_views.png)",
        "*One of the novel views: fitted to one view, to nine, and as it is.*",
        "Figure 12 of the paper shows artifacts from a novel view after a fit to one, and none after a fit to nine. Here nine "
        "views leave %s of the error of one in novel views." % format(ratio, ".2f"),
    ], ["views", "rms of what was seen", "rms of novel views", "SSIM of novel views", "density off by, first", "density off by, last",
        "CPU seconds"], rows,
        [{"title": "error of novel views", "x": "novel view", "y": "root mean square", "log_y": True,
          "curves": {"from %d" % n: list(enumerate(e)) for n, e in zip((1, VIEWS), errors)}}])
