# SPDX-License-Identifier: BSD-3-Clause
"""Scenes that are hard for paths from the camera, at equal CPU time by path and Metropolis integrators: errors against a
long image by chains of other seeds, and rays per second."""
import os
import tempfile

import numpy as np

import metropolis_scenes
import report

BOTH = "cpmmlt, both ways"
METHODS = {"path": ("path", ""), "pssmlt": ("pssmlt", ""), "cpmmlt": ("cpmmlt", ""), "mmlt": ("mmlt", ""),
           BOTH: ("cpmmlt", '<float name="light_paths" value="0.5"/>')}
RUNS = 2


def image(page, folder, name, method, spp, seed, side):
    """The picture, CPU seconds, and what the program said."""
    scene, out = os.path.join(folder, "scene.xml"), os.path.join(folder, "image.pfm")
    metropolis_scenes.write(scene, name, *METHODS[method])
    said, seconds = report.timed("render", scene, "--spp", spp, "--seed", seed, "-D", "width=%d" % side, "-D",
                                 "height=%d" % (3 * side // 4), "-o", out)
    page.device = said["device"]
    return report.read_pfm(out), seconds, said


def samples_for(page, folder, name, method, seconds, side):
    """Samples per pixel that take this CPU time, from two runs, so that what is done once cancels out."""
    _, few, _ = image(page, folder, name, method, 20, 0, side)
    _, many, _ = image(page, folder, name, method, 220, 0, side)
    return max(16, int(seconds * 200 / max(many - few, 1e-3)))


def error_of(picture, reference):
    """The mean of |difference| / (reference + 1 % of its mean), over pixels and channels."""
    return float(np.mean(np.abs(picture - reference) / (reference + .01 * reference.mean())))


def compare(page, folder, name, seconds, side):
    spp = {m: samples_for(page, folder, name, m, seconds, side) for m in METHODS}
    halves = [image(page, folder, name, "mmlt", 12 * spp["mmlt"], 90 + k, side)[0] for k in range(2)]
    reference = (halves[0] + halves[1]) / 2
    errors, rays, pictures = {}, {}, []
    for m in METHODS:
        runs = [image(page, folder, name, m, spp[m], 1 + k, side) for k in range(RUNS)]
        errors[m] = float(np.mean([error_of(r[0], reference) for r in runs]))
        rays[m] = sum(r[2].get("chains", {"vertices": 0})["vertices"] for r in runs) / sum(r[1] for r in runs)
        pictures.append(runs[0][0])
    own = error_of(halves[0], reference)
    row = [name] + [spp[m] for m in METHODS] + [errors[m] for m in METHODS]
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
    errors = {m: [r[1 + len(METHODS) + i] for r in rows] for i, m in enumerate(METHODS)}

    def below(a, b):
        return sum(x < y for x, y in zip(errors[a], errors[b]))
    best = sum(min(errors[m][k] for m in METHODS if m != "path") < errors["path"][k] for k in range(len(rows)))
    what = "; ".join("%s: %s" % (n, metropolis_scenes.SCENES[n][0]) for n in names)
    page.write("Metropolis light transport at equal time", [
        "%d x %d pixels, %g CPU seconds an image, mean of %d seeds ([theory](../theory/metropolis.md)). Scenes, written by "
        "`scripts/experiments/metropolis_scenes.py`: %s." % (side, 3 * side // 4, seconds, RUNS, what),
        "![%s and the reference, a row for each scene](metropolis.png)" % ", ".join(METHODS),
        "From left to right: %s, and the reference, which is 24 times as long by `mmlt` with other seeds. `mmlt` and `%s` (that is "
        "`cpmmlt` with half of its paths from lights) weigh paths from the camera against paths from lights. The error is the mean of "
        "|difference| over the reference's value plus 1 %% of its mean; `own` is that of one half of the reference." %
        (", ".join("`%s`" % m for m in METHODS), BOTH),
        "Below `path`: `pssmlt` on %d of %d scenes, `mmlt` on %d, `%s` on %d, the best of all four on %d; the aim was four. `cpmmlt` is "
        "below `pssmlt` on %d; the aim was most." %
        (below("pssmlt", "path"), len(rows), below("mmlt", "path"), BOTH, below(BOTH, "path"), best,
         below("cpmmlt", "pssmlt")),
        "Rays are vertices of paths, without those of probes, in millions a second of CPU time, which includes the start of the "
        "program. The paper (figure 7) has 2 to 6 times as many by coherent groups as by `pssmlt`, which evaluates one path at "
        "a time there; here it is %.1f to %.1f times (the last column). Here `pssmlt` fills the lanes of the vector unit with "
        "other chains, so coherence alone is left to win; [coherence](coherence.md) measures how much that is. "
        "The gain in rays is also spent: `cpmmlt` takes one step where `pssmlt` takes 16. Neighbouring chains of `mmlt` "
        "differ in where their paths begin, and a vector unit then walks both kinds one after the other; all particles of "
        "a group begin alike." % (min(r[-1] for r in rows), max(r[-1] for r in rows)),
    ], ["scene"] + ["spp " + m for m in METHODS] + ["error " + m for m in METHODS] +
        ["own", "Mrays/s pssmlt", "Mrays/s cpmmlt", "ratio"], rows, [
        {"title": "mean relative error, by scene in the table's order", "x": "scene", "y": "error",
         "curves": {m: [(k + 1, e, 0) for k, e in enumerate(errors[m])] for m in METHODS}},
        {"title": "rays of cpmmlt over pssmlt", "x": "scene", "y": "ratio",
         "curves": {"measured": [(k + 1, r[-1], 0) for k, r in enumerate(rows)]}}])
