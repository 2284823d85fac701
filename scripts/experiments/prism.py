# SPDX-License-Identifier: BSD-3-Clause
"""A strip that shines, seen through a prism whose index depends on the wavelength: where each wavelength is seen,
against the law of refraction."""
import os
import tempfile

import numpy as np

import report

SCENE = os.path.join(report.ASSETS, "prism.xml")
FACE, DEPTH, EYE, FAR = np.radians(10), 0.3, 4.0, -6.0  # as in the scene
FIELD = 4.0  # of view, degrees
# N-SF11, Schott, Optical Glass Data Sheets 2017
B, C = (1.73759695, 0.313747346, 1.89878101), (0.013188707, 0.0623068142, 155.23629)


def index(nm):
    square = (nm / 1000)**2
    return np.sqrt(1 + sum(b * square / (square - c) for b, c in zip(B, C)))


def refract(d, normal, ratio):
    """ratio: the index on the side of d over that behind."""
    cosine = -d @ normal
    return ratio * d + (ratio * cosine - np.sqrt(1 - ratio**2 * (1 - cosine**2))) * normal


def landing(angle, nm):
    """x at the strip's distance of the ray that leaves the eye at this angle, by the law of refraction."""
    p, d, n = np.array([0, EYE]), np.array([np.sin(angle), -np.cos(angle)]), index(nm)
    for normal, z, ratio in ((np.array([np.sin(FACE), np.cos(FACE)]), DEPTH, 1 / n),
                             (-np.array([np.sin(FACE), -np.cos(FACE)]), -DEPTH, n)):
        p = p + d * ((np.array([0, z]) - p) @ normal) / (d @ normal)
        d = refract(d, normal, ratio)
    return p[0] + d[0] * (FAR - p[1]) / d[1]


def seen_at(strip, nm):
    """Degrees at which the eye sees the strip in this wavelength, by bisection."""
    low, high = -np.radians(FIELD), np.radians(FIELD)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if landing(middle, nm) < strip else (low, middle)
    return np.degrees(low)


def columns(folder, spp, seed, width, *defines):
    """Brightness of each column of the picture, and what the program said."""
    out = os.path.join(folder, "image.pfm")
    args = [a for d in defines + ("width=%d" % width,) for a in ("-D", d)]
    said = report.backlight("render", SCENE, "--mode", "spectral", "--spp", spp, "--seed", seed, "-o", out, *args)
    with open(out, "rb") as f:
        f.readline(), f.readline(), f.readline()
        values = np.frombuffer(f.read(), "<f4").astype(float)
    return values.reshape(-1, width, 3).sum((0, 2)), said


def run(page, tiny):
    width, spp = (32, 64) if tiny else (256, 4096)
    wavelengths = [450, 550, 650] if tiny else [430, 460, 490, 520, 550, 580, 610, 640, 670]
    strip = landing(0, 540)
    place = np.degrees(np.arctan((2 * (np.arange(width) + .5) / width - 1) * np.tan(np.radians(FIELD / 2))))
    rows, found = [], []
    with tempfile.TemporaryDirectory() as folder:
        for nm in wavelengths:
            light = "%g:0, %g:1, %g:0" % (nm - 5, nm, nm + 5)
            each = []
            for seed in range(report.TIMES):
                values, said = columns(folder, spp, seed, width, "strip=%.6f" % strip, "light=" + light)
                each.append((values * place).sum() / values.sum())
            page.device, angle, law = said["device"], report.Measured.of(each), float(seen_at(strip, nm))
            rows.append([nm, float(index(nm)), angle, law, report.Measured(angle - law, angle.error)])
            found.append((nm, angle))
        report.backlight("render", SCENE, "--mode", "spectral", "--spp", spp, "-o",
                         os.path.join(page.folder, "prism.png"), "-D", "strip=%.6f" % strip, "-D", "height=%d" %
                         (4 if tiny else 48), "-D", "width=%d" % width)
    expected = [(nm, seen_at(strip, nm)) for nm in range(420, 681, 5)]
    page.write("A prism", [
        "A strip that shines, .02 wide, seen through a prism of 20 degrees of the glass N-SF11 (`assets/papers/prism.xml`, "
        "mode `spectral`, %d samples per pixel, %.3f degrees a pixel). The index of the glass is a curve, so each path goes on "
        "with one of its four wavelengths behind the first face ([modes](../theory/modes.md))." % (spp, FIELD / width),
        "![The strip through the prism](prism.png)",
        "In the table the strip shines in a band 10 nm wide. The angle is that at which the pinhole sees it, as the mean "
        "over columns, weighed by their brightness, and over %d images, with its standard error. The law of refraction at both faces gives the other angle. "
        "What is left beyond noise is less than a tenth of a pixel: the strip ends anywhere in one." % report.TIMES,
    ], ["nm", "index", "seen at, degrees", "law of refraction", "difference"], rows, [
        {"title": "where the strip is seen", "x": "wavelength, nm", "y": "degrees",
         "curves": {"rendered": found, "law of refraction": expected}}])
