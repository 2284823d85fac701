# SPDX-License-Identifier: BSD-3-Clause
"""The normal map of a mirror from what it reflects, with directions attached and detached."""
import os
import tempfile

import numpy as np

import report

SIDE = 12
WAYS = [("prb", "attached"), ("prb_detached", "detached")]


def normals(texels):
    n = 2 * texels - 1
    return n / np.linalg.norm(n, axis=2, keepdims=True)


def angles(texels, truth):
    """Mean and largest angle between normals, in degrees."""
    a = np.degrees(np.arccos(np.clip((normals(texels) * normals(truth)).sum(axis=2), -1, 1)))
    return a.mean(), a.max()


def run(page, tiny):
    steps, losses, rows = 2 if tiny else 80, {}, []
    truth = report.read_pfm(os.path.join(report.ASSETS, "normals.pfm"))
    flat = np.broadcast_to([0.5, 0.5, 1.0], truth.shape)
    rows.append(["flat, before", *angles(flat, truth), None, None])
    for integrator, way in WAYS:
        with tempfile.TemporaryDirectory() as folder:
            parameter = {"name": "normals.data", "initial": flat.ravel().tolist(), "bounds": [0, 1],
                         "rate": 0.015}
            result, columns = report.fit("mirror.xml", parameter, folder, steps, 2 if tiny else 4,
                                         "--integrator", integrator, "--max-depth", 3,
                                         schedule=[{"step": max(1, steps // 2), "factor": 0.3},
                                                   {"step": max(2, steps * 4 // 5), "factor": 0.1}])
            found = np.load(os.path.join(folder, "out", "normals.data.npy")).astype(float)
        page.device = result["device"]
        losses[way] = list(zip(columns["step"], columns["loss"]))
        rows.append([way, *angles(found, truth), columns["loss"][0], columns["loss"][-1]])
    page.write("Normal map of a mirror from what it reflects", [
        "A mirror with a normal map of %d x %d texels under a sky in which every direction has a colour of "
        "its own (`assets/papers/mirror.xml`), 24 x 24 pixels, 4 samples per pixel, %d steps"
        " of Adam from a flat map. Attached path replay (`--integrator prb`) turns reflected directions with "
        "the normals; detached sampling (`--integrator prb_detached`) has no gradient at all,"
        " since the mirror reflects all light whatever its normal is." % (SIDE, SIDE, steps),
        "Angles are those between found and true normals at the texels; the outermost texels are seen by "
        "fewer pixels. Losses as in [glass_ior](glass_ior.md).",
    ], ["way", "mean angle, degrees", "largest angle, degrees", "first loss", "last loss"], rows,
        [{"title": "loss", "x": "step", "y": "mean squared difference", "log_y": True, "curves": losses}])
