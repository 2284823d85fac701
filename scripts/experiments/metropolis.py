# SPDX-License-Identifier: BSD-3-Clause
"""Scenes that are hard for paths from the camera, at equal CPU time by path and Metropolis integrators: errors against a
long image by chains of other seeds, and rays per second."""
import os
import tempfile

import numpy as np

import metropolis_scenes
import report

BOTH = "cpmmlt, both ways"
METHODS = {"path": ("path", ""), "bidirectional": ("bidirectional", ""), "pssmlt": ("pssmlt", ""),
           "cpmmlt": ("cpmmlt", ""), "mmlt": ("mmlt", ""), BOTH: ("cpmmlt", '<float name="light_paths" value="0.5"/>')}
CHAINS = [m for m in METHODS if m not in ("path", "bidirectional")]
HALF = "half of the reference"
RUNS = 4


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


def square_error_of(picture, reference):
    """The same of squares, as relative mean square error (relMSE): single bright pixels count."""
    return float(np.mean((picture - reference)**2 / (reference**2 + (.01 * reference.mean())**2)))


def compare(page, folder, name, seconds, side):
    """A row for each method: samples, both errors, millions of rays a second; and the pictures."""
    spp = {m: samples_for(page, folder, name, m, seconds, side) for m in METHODS}
    halves = [image(page, folder, name, "mmlt", 12 * spp["mmlt"], 90 + k, side)[0] for k in range(2)]
    reference = (halves[0] + halves[1]) / 2
    found, pictures = {}, []
    for m in METHODS:
        runs = [image(page, folder, name, m, spp[m], 1 + k, side) for k in range(RUNS)]
        rays = report.Measured.of([1e-6 * said.get("chains", {"vertices": 0})["vertices"] / took for _, took, said in runs])
        found[m] = [spp[m]] + [report.Measured.of([error(r[0], reference) for r in runs])
                               for error in (error_of, square_error_of)] + [rays or None]
        pictures.append(runs[0][0])
    found[HALF] = [12 * spp["mmlt"], error_of(halves[0], reference), square_error_of(halves[0], reference), None]
    return found, pictures + [reference]


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
    scenes, pictures = {}, []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            scenes[name], shown = compare(page, folder, name, seconds, side)
            pictures.append(shown)
        save_grid(page, pictures)
    errors, squares = ({m: [f[m][k] for f in scenes.values()] for m in METHODS} for k in (1, 2))
    ratios = [f["cpmmlt"][3] / f["pssmlt"][3] for f in scenes.values()]

    def below(of, a, b):
        return sum(x < y for x, y in zip(of[a], of[b]))

    def told(of):
        best = sum(min(of[m][k] for m in CHAINS) < of["path"][k] for k in range(len(scenes)))
        return "%s; the best of all chains on %d" % (", ".join("`%s` on %d" % (m, below(of, m, "path")) for m in METHODS
                                                              if m != "path"), best)
    what = "; ".join("%s: %s" % (n, metropolis_scenes.SCENES[n][0]) for n in names)
    page.write("Metropolis light transport at equal time", [
        "%d x %d pixels, %g CPU seconds an image, means of %d seeds with standard errors ([theory](../theory/metropolis.md)). Scenes, written by "
        "`scripts/experiments/metropolis_scenes.py`: %s." % (side, 3 * side // 4, seconds, RUNS, what),
        "![%s and the reference, a row for each scene](metropolis.png)" % ", ".join(METHODS),
        "From left to right: %s, and the reference, which is 24 times as long by `mmlt` with other seeds. `bidirectional`, `mmlt` and `%s` "
        "(that is `cpmmlt` with half of its paths from lights) weigh paths from the camera against paths from lights. The error is the mean of "
        "|difference| over the reference's value plus 1 %% of its mean; relMSE is that of squares, in which single bright pixels "
        "count more. The last row of a scene is one half of the reference against both." %
        (", ".join("`%s`" % m for m in METHODS), BOTH),
        "Of %d scenes, error below that of `path`: %s. By relMSE: %s. The aim was four. `cpmmlt` is below `pssmlt` on %d, by relMSE on %d; the aim "
        "was most." % (len(scenes), told(errors), told(squares), below(errors, "cpmmlt", "pssmlt"),
                       below(squares, "cpmmlt", "pssmlt")),
        "Rays are vertices of paths, without those of probes, in millions a second of CPU time, which includes the start of the "
        "program. The paper (figure 7) has 2 to 6 times as many by coherent groups as by `pssmlt`, which evaluates one path at "
        "a time there; here it is %.1f to %.1f times. Here `pssmlt` fills the lanes of the vector unit with "
        "other chains, so coherence alone is left to win; [coherence](coherence.md) measures how much that is. "
        "The gain in rays is also spent: `cpmmlt` takes one step where `pssmlt` takes 16. Neighbouring chains of `mmlt` "
        "differ in where their paths begin, and a vector unit then walks both kinds one after the other; all particles of "
        "a group begin alike." % (min(ratios), max(ratios)),
    ], ["scene", "integrator", "samples", "error", "relMSE", "Mrays/s"],
        [[name, m] + row for name, found in scenes.items() for m, row in found.items()], [
        {"title": "%s, by scene in the table's order" % title, "x": "scene", "y": "error",
         "curves": {m: [(k + 1, e) for k, e in enumerate(of[m])] for m in METHODS}}
        for title, of in (("mean relative error", errors), ("relMSE", squares))])
