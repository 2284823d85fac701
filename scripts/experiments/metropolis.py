# SPDX-License-Identifier: BSD-3-Clause
"""Scenes that are hard for paths from the camera, at equal CPU time by path, pssmlt and cpmmlt: errors against a long
image by chains of other seeds, and rays per second."""
import os
import tempfile

import numpy as np

import metropolis_scenes
import report

METHODS = ["path", "pssmlt", "cpmmlt"]
RUNS = 2


def image(page, folder, scene, method, spp, seed, side):
    """The picture, CPU seconds, and what the program said."""
    out = os.path.join(folder, "image.pfm")
    said, seconds = report.timed("render", scene, "--integrator", method, "--spp", spp, "--seed", seed, "-D",
                                 "width=%d" % side, "-D", "height=%d" % (3 * side // 4), "-o", out)
    page.device = said["device"]
    return report.read_pfm(out), seconds, said


def samples_for(page, folder, scene, method, seconds, side):
    """Samples per pixel that take this CPU time, from two runs, so that what is done once cancels out."""
    _, few, _ = image(page, folder, scene, method, 20, 0, side)
    _, many, _ = image(page, folder, scene, method, 220, 0, side)
    return max(16, int(seconds * 200 / max(many - few, 1e-3)))


def error_of(picture, reference):
    """The mean of |difference| / (reference + 1 % of its mean), over pixels and channels."""
    return float(np.mean(np.abs(picture - reference) / (reference + .01 * reference.mean())))


def compare(page, folder, name, seconds, side):
    scene = os.path.join(folder, name + ".xml")
    metropolis_scenes.write(scene, name)
    spp = {m: samples_for(page, folder, scene, m, seconds, side) for m in METHODS}
    halves = [image(page, folder, scene, "pssmlt", 6 * spp["pssmlt"], 90 + k, side)[0] for k in range(2)]
    reference = (halves[0] + halves[1]) / 2
    errors, rays, pictures = {}, {}, []
    for m in METHODS:
        runs = [image(page, folder, scene, m, spp[m], 1 + k, side) for k in range(RUNS)]
        errors[m] = float(np.mean([error_of(r[0], reference) for r in runs]))
        rays[m] = sum(r[2].get("chains", {"vertices": 0})["vertices"] for r in runs) / sum(r[1] for r in runs)
        pictures.append(runs[0][0])
    own = error_of(halves[0], reference)
    row = [name, spp["path"], spp["pssmlt"], spp["cpmmlt"]] + [errors[m] for m in METHODS]
    row += [own, 1e-6 * rays["pssmlt"], 1e-6 * rays["cpmmlt"], rays["cpmmlt"] / rays["pssmlt"]]
    return row, pictures + [reference]


def save_grid(page, rows):
    """A picture of all pictures, each row at the brightness of its reference."""
    lines = []
    for pictures in rows:
        scale = .3 / np.median(pictures[-1][pictures[-1] > 0])
        lines.append(np.hstack([p * scale for p in pictures]))
    grid = np.vstack(lines)
    shown = np.round(255 * np.clip(grid, 0, 1)**(1 / 2.2)).astype(np.uint8)
    page.picture(shown)


def run(page, tiny):
    seconds, side, names = (.02, 16, ["globe", "door"]) if tiny else (1, 128, list(metropolis_scenes.SCENES))
    rows, pictures = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            row, shown = compare(page, folder, name, seconds, side)
            rows.append(row)
            pictures.append(shown)
        save_grid(page, pictures)
    beats = sum(r[5] < r[4] for r in rows)
    below = sum(r[6] < r[5] for r in rows)
    what = "; ".join("%s: %s" % (n, metropolis_scenes.SCENES[n][0]) for n in names)
    page.write("Metropolis light transport at equal time", [
        "%d x %d pixels, %g CPU seconds an image, mean of %d seeds ([theory](../theory/metropolis.md)). Scenes, written by "
        "`scripts/experiments/metropolis_scenes.py`: %s." % (side, 3 * side // 4, seconds, RUNS, what),
        "![path, pssmlt, cpmmlt and the reference, a row for each scene](metropolis.png)",
        "From left to right: `path`, `pssmlt`, `cpmmlt`, and the reference, which is twelve times as long by `pssmlt` with other "
        "seeds. The error is the mean of |difference| over the reference's value plus 1 %% of its mean; `own` is that of one "
        "half of the reference. `pssmlt` is below `path` on %d of %d scenes, and `cpmmlt` below `pssmlt` on %d. Aims were "
        "four and most of them." % (beats, len(rows), below),
        "Rays are vertices of paths, without those of probes, in millions a second of CPU time, which includes the start of the "
        "program. The paper (figure 7) has 2 to 6 times as many by coherent groups as by `pssmlt`, which evaluates one path at "
        "a time there; here it is %.1f to %.1f times (the last column). Here `pssmlt` fills the lanes of the vector unit with "
        "other chains, so coherence alone is left to win; [coherence](coherence.md) measures how much that is. "
        "The gain in rays is also spent: `cpmmlt` takes one step where `pssmlt` takes 16, and its error is lower on %d "
        "of %d scenes." % (min(r[10] for r in rows), max(r[10] for r in rows), below, len(rows)),
    ], ["scene", "spp path", "pssmlt", "cpmmlt", "error path", "error pssmlt", "error cpmmlt", "own", "Mrays/s pssmlt",
        "Mrays/s cpmmlt", "ratio"], rows, [
        {"title": "mean relative error, by scene in the table's order", "x": "scene", "y": "error",
         "curves": {m: [(k + 1, r[4 + i], 0) for k, r in enumerate(rows)] for i, m in enumerate(METHODS)}},
        {"title": "rays of cpmmlt over pssmlt", "x": "scene", "y": "ratio",
         "curves": {"measured": [(k + 1, r[10], 0) for k, r in enumerate(rows)]}}])
