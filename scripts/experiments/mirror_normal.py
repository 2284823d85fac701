# SPDX-License-Identifier: BSD-3-Clause
"""The normal maps of a mirror and of a pane of smooth glass from what they reflect and refract, with directions attached and
detached (figure 10 of the path replay paper)."""
import os
import tempfile

import numpy as np

import report

WAYS = [("prb", "attached"), ("prb_detached", "detached")]
# what, scene, parameter, rate, samples per pixel, whether losses are so far from 0 that a logarithm shows them, defines
CASES = [("mirror", "mirror.xml", "normals.data", 0.015, 4, True, []),
         ("glass", "panels.xml", "clear.normalmap.data", 0.006, 64, False, ["-D", "lens=clear", "-D", "look=0, 0.2, 4"])]


def normals(texels):
    n = 2 * texels - 1
    return n / np.linalg.norm(n, axis=2, keepdims=True)


def angles(texels, truth):
    """Mean and largest angle between normals, in degrees."""
    a = np.degrees(np.arccos(np.clip((normals(texels) * normals(truth)).sum(axis=2), -1, 1)))
    return a.mean(), a.max()


def run(page, tiny):
    steps, panels, rows = 2 if tiny else 80, [], []
    truth = report.read_pfm(os.path.join(report.ASSETS, "normals.pfm"))
    flat = np.broadcast_to([0.5, 0.5, 1.0], truth.shape)
    rows.append(["flat, before", *angles(flat, truth), None, None])
    for what, scene, name, rate, spp, log, defines in CASES:
        losses = {}
        for integrator, way in WAYS:
            runs = []
            for seed in range(report.TIMES):
                with tempfile.TemporaryDirectory() as folder:
                    parameter = {"name": name, "initial": flat.ravel().tolist(), "bounds": [0, 1], "rate": rate}
                    result, columns = report.fit(scene, parameter, folder, steps, 2 if tiny else spp,
                                                 "--integrator", integrator, "--max-depth", 3, "--edges", "none", *defines,
                                                 schedule=[{"step": max(1, steps // 2), "factor": 0.3},
                                                           {"step": max(2, steps * 4 // 5), "factor": 0.1}], seed=1 + seed)
                    found = np.load(os.path.join(folder, "out", name + ".npy")).astype(float)
                runs.append((*angles(found, truth), columns["loss"][0], columns["loss"][-1]))
            page.device = result["device"]
            losses[way] = list(zip(columns["step"], columns["loss"]))
            rows.append(["%s, %s" % (what, way), *report.Measured.columns(runs)])
        panels.append({"title": what, "x": "step", "y": "mean squared difference", "log_y": log, "curves": losses})
    page.write("Normal maps of a mirror and of glass", [
        "A mirror, and a pane of smooth glass, each with a normal map of %d x %d texels under a sky in which every direction has a colour of "
        "its own (`assets/papers/mirror.xml`, `panels.xml`), %d and %d samples per pixel, %d steps of Adam from a flat map. Attached path replay "
        "(`--integrator prb`) turns directions with the normals. Detached sampling (`--integrator prb_detached`) has no gradient by the mirror at "
        "all, which reflects all light whatever its normal is, and by glass sees Fresnel's coefficients alone." %
        (*truth.shape[:2], *(case[4] for case in CASES), steps),
        "The paper (figure 10) optimises the normal map of a glass slab, and matches automatic differentiation. Angles are those between found "
        "and true normals at the texels; the outermost texels are seen by fewer pixels. Losses as in [glass_ior](glass_ior.md). Means of "
        "%d fits with other random numbers, with standard errors; the plot has the last of them." % report.TIMES,
    ], ["way", "mean angle, degrees", "largest angle, degrees", "first loss", "last loss"], rows, panels)
