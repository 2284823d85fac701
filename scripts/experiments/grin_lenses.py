# SPDX-License-Identifier: BSD-3-Clause
"""Two lenses whose index of refraction is known, and focuses every ray, by the length of a step: how far from the focus
light arrives, against the radius of the lens."""
import os
import tempfile

import numpy as np

import report

LENSES = (("luneburg", "Luneburg"), ("maxwell", "Maxwell"))
HALF = .01  # of the receiver's side; the radius of the lenses is 1
SIDE = 64


def spread(folder, page, lens, step, spp):
    """Root mean square of the distance from the focus, and the radiant flux that arrives."""
    out = os.path.join(folder, "spot.pfm")
    at = ((np.arange(SIDE) + .5) / SIDE * 2 - 1) * HALF
    square, runs = at[None, :]**2 + at[:, None]**2, []
    for seed in range(report.TIMES):
        said = report.backlight("render", os.path.join(report.ASSETS, lens + ".xml"), "--spp", spp, "--seed", seed, "-o", out, "-D",
                                "step=%g" % step, "-D", "res=%d" % SIDE)
        values = report.read_pfm(out)[..., 0]
        runs.append((np.sqrt((values * square).sum() / values.sum()), values.mean() * (2 * HALF)**2))
    page.device = said["device"]
    return report.Measured.columns(runs)


def run(page, tiny):
    steps = (.08, .02) if tiny else (.16, .08, .04, .02, .01, .005)
    rows, curves = [], {name: [] for _, name in LENSES}
    with tempfile.TemporaryDirectory() as folder:
        for step in steps:
            row = [step]
            for lens, name in LENSES:
                radius, flux = spread(folder, page, lens, step, 4 if tiny else 64)
                row += [radius, flux]
                curves[name].append((step, radius))
            rows.append(row)
    page.write("Lenses of graded index", [
        "A Luneburg lens sends parallel light to the end of the diameter along it, and Maxwell's fish-eye sends light from a "
        "point of its border to the opposite one ([gradient-index media](../theory/gradient_index.md)). A small wall stands at "
        "that end, in the lens, %g of the radius before its border (`assets/papers/luneburg.xml`, `maxwell.xml`), and maps "
        "what arrives; means of %d times %g paths, with standard errors. The light of Maxwell's lens is a spot 1e-4 before the border." %
        (1e-4, report.TIMES, (4 if tiny else 64) * SIDE**2),
        "The distance from the focus, as a root mean square over the light that arrives within %g of it, in radii of the lens. "
        "Rays begin 2e-4 beside a surface that they have crossed, a pixel of the map is %.1e wide, and the wall stands before the "
        "focus: that is what is left where steps are short." % (HALF, 2 * HALF / SIDE),
        "The flux that arrives should be pi .9^2 = 2.5447 of parallel light; of the spot it is %g sr less what its soft border "
        "takes." % round(np.pi, 3),
    ], ["step", "Luneburg, distance", "flux", "Maxwell, distance", "flux"], rows,
        [{"title": "distance from the focus, by the step", "x": "step, radii", "y": "distance, radii", "curves": curves}])
