# SPDX-License-Identifier: BSD-3-Clause
"""Time of a gradient against the number of vertices in a chain, of mirrors and of nearly smooth metal: visits from
the back, and inverted Jacobians; and of mirrors around fog: visits."""
import os
import tempfile

import numpy as np

import report

SCENES = [("mirrors", os.path.join(report.ASSETS, "mirrors.xml")),
          ("rough metal", os.path.join(report.ASSETS, "rough_mirrors.xml")),
          ("mirrors around fog", os.path.join(report.ASSETS, "foggy_mirrors.xml"))]
NAME = "walls.normalmap.value"
WAYS = [("visits", "visits from the back"), ("jacobians", "inverted Jacobians")]


def gradient(scene, chains, length, side, spp, repetitions, folder, page):
    """CPU seconds of a gradient, and the derivative by the normal with its standard error."""
    ones, out = os.path.join(folder, "ones.pfm"), os.path.join(folder, "out")
    report.write_ones(ones, side)
    order = ["-D", "chains=" + chains] if chains else []
    s, seconds = report.gradients(page, repetitions, scene, "-D", "resolution=%d" % side, "-D", "max_depth=%d" % (length + 1),
                         *order, "--adjoint", ones, "--spp", spp, "-o", out, "--param", NAME)
    value = np.load(os.path.join(out, NAME + ".npy")).astype(float)
    assert sum(s["singular"]) == 0
    return seconds, value


def run(page, tiny):
    lengths = [4, 8] if tiny else [4, 8, 16, 24, 32, 48, 64]
    side, spp, repetitions = (8, 1, 2) if tiny else (32, 16, 6)
    times, rows, most = {}, [], 0
    with tempfile.TemporaryDirectory() as folder:
        for room, scene in SCENES:
            for length in lengths:
                if room == "mirrors around fog":
                    seconds, _ = gradient(scene, None, length, side, spp, repetitions, folder, page)
                    times.setdefault("%s, %s" % (room, WAYS[0][1]), []).append((length, seconds))
                    rows.append([room, str(length), seconds, "", "", ""])
                    continue
                found = [gradient(scene, way, length, side, spp, repetitions, folder, page) for way, _ in WAYS]
                for (_, name), (seconds, _) in zip(WAYS, found):
                    times.setdefault("%s, %s" % (room, name), []).append((length, seconds))
                off = np.abs(found[1][1] - found[0][1]).max() / np.abs(found[0][1]).max()
                most = max(most, off)
                rows.append([room, str(length), found[0][0], found[1][0], found[1][0].over(found[0][0]), off])
    page.write("Time of attached gradients against the length of chains", [
        "Rooms whose walls shine and reflect: mirrors (`assets/papers/mirrors.xml`), and metal of roughness .02 "
        "(`assets/papers/rough_mirrors.xml`, with `look_ahead` 1024), %d x %d pixels, %d samples per pixel. A path is one "
        "chain of as many vertices as depth allows; the derivative is by the normal of all walls. With `volpath` the "
        "same for mirrors around a cube of fog (`assets/papers/foggy_mirrors.xml`): there the length counts segments, and chains "
        "have a vertex more wherever a ray enters or leaves the fog. CPU seconds of a "
        "gradient, means of %d times %d, with standard errors." % (side, side, spp, report.TIMES, repetitions - 2),
        "The paper (section 4.2) inverts the Jacobian of each vertex, in time linear in the length; `chains` "
        "of `prb_attached` set to `jacobians` does that here. The default, `visits`, walks back to each vertex, from the nearest "
        "of 8 places that it keeps: to 64 vertices 3.3 visits each. "
        "Exponent of time in length, from %d to %d: %s. A Jacobian takes four tangents of everything at a vertex, "
        "a visit none. Light sampling weighs what the next ray of "
        "rough metal meets, so with Jacobians that is met twice. The gradients differ by at most %.1g "
        "of the largest component: rounding, which grows with the length of chains of rough metal." % (lengths[0], lengths[-1],
                         "; ".join("%s %.2f" % (name, report.exponent(t[0], t[-1])) for name, t in times.items()), most),
    ], ["walls", "vertices", "visits, s", "Jacobians, s", "Jacobians over visits", "relative difference"], rows,
        [{"title": "time of a gradient", "x": "vertices of the chain", "y": "seconds", "log_x": True, "log_y": True,
          "curves": times}])
