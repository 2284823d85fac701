# SPDX-License-Identifier: BSD-3-Clause
"""The heights of a relief behind a pane of smooth glass, from one picture."""
import os
import tempfile

import numpy as np

import report


def read_vertices():
    """Of assets/relief/relief.ply, count x 3."""
    with open(os.path.join(report.ROOT, "assets", "relief", "relief.ply")) as f:
        lines = f.read().splitlines()
    count = next(int(l.split()[2]) for l in lines if l.startswith("element vertex"))
    first = lines.index("end_header") + 1
    return np.array([[float(v) for v in l.split()] for l in lines[first:first + count]])


def errors(vertices, truth):
    """Of heights that the camera sees whole: rms; rms and largest but for a shift, as one picture under distant lights says
    little of the height of the whole."""
    off = (vertices - truth)[np.abs(truth[:, :2]).max(axis=1) < 0.8, 2]
    return np.sqrt((off**2).mean()), np.sqrt(((off - off.mean())**2).mean()), np.abs(off - off.mean()).max()


def run(page, tiny):
    steps, truth, runs = 2 if tiny else 80, read_vertices(), []
    flat = truth * [1, 1, 0]
    for seed in range(report.TIMES):
        with tempfile.TemporaryDirectory() as folder:
            parameter = {"name": "relief.vertex_positions", "initial": flat.ravel().tolist(), "rate": 0.02,
                         "large_steps": {"lambda": 19, "fixed": "xy"}}
            result, columns = report.fit("relief.xml", parameter, folder, steps, 2 if tiny else 8,
                                         schedule=[{"step": max(1, steps // 2), "factor": 0.3},
                                                   {"step": max(2, steps * 4 // 5), "factor": 0.1}], seed=1 + seed)
            found = np.load(os.path.join(folder, "out",
                                         "relief.vertex_positions.npy")).astype(float).reshape(-1, 3)
        runs.append((*errors(found, truth), columns["loss"][-1], columns["loss"][0]))
    page.device = result["device"]
    *last, first = report.Measured.columns(runs)
    rows = [["flat, before", *errors(flat, truth), first], ["found", *last]]
    side = round(len(truth) ** 0.5)
    middle = slice(side * (side // 2 - 2), side * (side // 2 - 1))
    profiles = {n: list(zip(truth[middle, 0], v[middle, 2]))
                for n, v in (("truth", truth), ("found", found), ("before", flat))}
    losses = {"loss": list(zip(columns["step"], columns["loss"]))}
    page.write("Heights behind smooth glass", [
        "The square of 32 x 32 vertices of `assets/relief` behind a tilted pane of smooth glass, with three "
        "lights on its own side (`assets/papers/relief.xml`), 40 x 40 pixels, 8 samples per"
        " pixel, %d steps of Adam preconditioned by the mesh, from a flat square. Rays refract on the way to "
        "the relief; there the vertex slides along the ray." % steps,
        "Errors over the vertices within 0.8 of the middle; heights reach from %.2f to %.2f. The second one "
        "leaves out a shift of the whole, which one picture says little of. "
        "Means of %d fits with other random numbers, with standard errors; the plots have the last of them."
        % (truth[:, 2].min(), truth[:, 2].max(), report.TIMES),
    ], ["heights", "rms error", "rms error but for a shift", "largest error but for a shift", "loss"], rows, [
        {"title": "a row of heights", "x": "x", "y": "height", "curves": profiles},
        {"title": "loss", "x": "step", "y": "mean squared difference", "log_y": True, "curves": losses},
    ])
