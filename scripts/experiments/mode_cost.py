# SPDX-License-Identifier: BSD-3-Clause
"""What an image costs in each mode, against red, green and blue: on the processor itself and on lavapipe."""
import glob
import os
import tempfile

import numpy as np

import report

MODES = ["mono", "spectral", "mono_polarized", "rgb_polarized"]
SCENES = [("Cornell box", "assets/cornell/scene.xml"), ("milk", "assets/papers/milk.xml"),
          ("room, textures", "assets/room/scene.xml"), ("smoke", "assets/smoke/scene.xml"),
          ("polarisers, glass", "assets/polarizers/scene.xml")]
PLOTTED = len(SCENES)
SCENES += [("plates of metal", "assets/ellipsometry/scene.xml"), ("relief", "assets/relief/scene.xml"),
           ("crossed polarisers", "assets/papers/crossed_polarizers.xml")]
SCENES += [(os.path.basename(os.path.dirname(path)), os.path.relpath(path, report.ROOT))
           for path in sorted(glob.glob(os.path.join(report.ROOT, "tests", "reference", "*", "scene.xml")))]


def seconds(page, folder, scene, mode, device, spp):
    """CPU seconds of so many samples a pixel: a run with one more less a run with one, so that what is done once, such as
    compiling, cancels out."""
    taken = []
    for n in (1, 1 + spp):
        said, cpu = report.timed("render", os.path.join(report.ROOT, scene), "--mode", mode, "--device", device,
                                 "--spp", n, "-o", os.path.join(folder, "image.pfm"))
        taken.append(cpu)
        page.device = said["device"] if device == "native" else page.device
    return max(taken[1] - taken[0], 1e-6)


def operations(folder, scene, mode):
    """How many the optimised kernel of an image has, the same one for all devices."""
    path = os.path.join(folder, "kernel.txt")
    report.backlight("ir", os.path.join(report.ROOT, scene), "--pass", "primal", "--optimised", "--mode", mode, "-o",
                     path)
    with open(path) as f:
        return sum(" = " in line for line in f)


def samples(page, folder, scene, device, wanted):
    """So many that rgb takes about the wanted seconds."""
    spp = 4
    while spp < 512 and seconds(page, folder, scene, "rgb", device, spp) < wanted:
        spp *= 4
    return spp


def summary(rows):
    """Of the scenes on the processor itself: the geometric mean and the largest of each mode."""
    ratios = np.array([row[3:3 + len(MODES)] for row in rows if row[1] == "native"])
    worst = ratios.argmax(0)
    return "Over %d scenes, geometric mean and largest on `native`: %s." % (len(ratios), "; ".join(
        "`%s` %.2f, %.2f (%s)" % (mode, np.exp(np.log(ratios[:, k]).mean()), ratios[worst[k], k], rows[worst[k]][0])
        for k, mode in enumerate(MODES)))


def run(page, tiny):
    rounds, wanted, scenes = (2, 0, SCENES[:2]) if tiny else (3, 0.4, SCENES)
    rows, curves = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for device in ("native", "lavapipe"):
            for name, scene in scenes if device == "native" else scenes[:1]:
                spp = samples(page, folder, scene, device, wanted)
                taken = np.array([[seconds(page, folder, scene, mode, device, spp) for mode in ["rgb"] + MODES]
                                  for _ in range(rounds)])
                ratios = report.Measured.columns(taken[:, 1:] / taken[:, :1])
                of_rgb = operations(folder, scene, "rgb")
                ops = [operations(folder, scene, mode) / of_rgb for mode in MODES[:2]]
                rows.append([name, device, spp, *ratios, *ops, 1 - 1.5 * (1 - ops[0])])
                if len(curves) < PLOTTED or device == "lavapipe":
                    curves["%s, %s" % (name, device)] = list(enumerate(ratios))
    page.write("Cost of modes", [
        "CPU seconds of an image over those in mode `rgb`, the mean of %d rounds, in each of which all modes were run one "
        "after the other, with its standard error. A run with one sample a pixel is subtracted, so that compiling does not count. From `blend_mask` "
        "on, scenes are those of `tests/reference`." % rounds,
        summary(rows),
        "Most of an image is rays and decisions, which are the same in all modes: one channel instead of three saves little, "
        "and Stokes vectors cost little where few materials polarise ([modes](../theory/modes.md)).",
        "Operations are those of the image's kernel after optimisation (`backlight ir --optimised`), over those in `rgb`. What two "
        "channels less save, times 3/2, is what all three channels cost. Without them there would be the share in the last "
        "column: so little of a kernel is colour.",
    ], ["scene", "device", "samples a pixel"] + MODES + ["operations, mono", "operations, spectral", "without colour"], rows, [
        {"title": "cost over rgb: mono, spectral, mono_polarized, rgb_polarized", "x": "mode", "y": "seconds over those of rgb",
         "curves": curves}])
