# SPDX-License-Identifier: BSD-3-Clause
"""Metamerism: two reflectances that look the same in daylight, under other lamps, in red, green and blue and in sampled
wavelengths, against integrals."""
import os
import re
import tempfile

import numpy as np

import report

SCENE = os.path.join(report.ASSETS, "metamerism.xml")
NM = np.arange(360, 831, 5.0)
FINE = np.arange(360, 830.01, 0.25)
TO_RGB = np.array([[3.240479, -1.537150, -0.498535], [-0.969256, 1.875991, 0.041556], [0.055648, -0.204043, 1.057311]])
TO_XYZ = np.linalg.inv(TO_RGB)


def observer():
    """The CIE 1931 curves and D65 at NM, of the program's own table."""
    with open(os.path.join(report.ROOT, "src", "scene", "spectrum.c")) as f:
        table = f.read().split("spectrum_curves", 1)[1]
    rows = re.findall(r"\{([-.\de]+), ([-.\de]+), ([-.\de]+), ([-.\de]+)\}", table)
    return np.array(rows, float)[:NM.size].T


X, Y, Z, D65 = observer()
CURVES = np.array([np.interp(FINE, NM, c) for c in (X, Y, Z)])
NORM = 106.7502593994140625  # of the program: what the integral of Y is taken for


def fine(samples):
    return np.interp(FINE, *samples, left=0, right=0)


def xyz(power):
    product = CURVES * power
    return (product[:, 1:] + product[:, :-1]).sum(1) * (FINE[1] - FINE[0]) / 2 / NORM


def colour(power):
    return TO_RGB @ xyz(power)


def text(samples):
    return ", ".join("%g:%.7g" % pair for pair in zip(*samples))


def reflectances():
    """Two of one colour under D65: they differ by a wave without the parts that the eye sees in that light."""
    smooth = 0.35 + 0.12 * np.tanh((NM - 560) / 60)
    seen = np.array([X, Y, Z]) * D65
    wave = np.cos((NM - 380) / 32)
    black = wave - np.linalg.lstsq(seen @ seen.T, seen @ wave, rcond=None)[0] @ seen
    return (NM, smooth), (NM, smooth + black * 0.95 * np.min(smooth / np.abs(black)))


def lamps():
    """Daylight, a light bulb of 2856 K, and a lamp of three narrow bands, whose white has the luminance 1."""
    bulb = 1 / (NM**5 * (np.exp(1.438776877e7 / (NM * 2856)) - 1))
    bands = (np.array([360, 435, 445, 455, 535, 545, 555, 600, 610, 620, 830.]),
             np.array([0, 0, 1, 0, 0, 1.1, 0, 0, 1.3, 0, 0]))
    named = {"daylight": (NM, D65), "light bulb": (NM, bulb), "three bands": bands}
    return {name: (nm, power / xyz(fine((nm, power)))[1]) for name, (nm, power) in named.items()}


def lab(rgb, white):
    t = (TO_XYZ @ rgb) / (TO_XYZ @ white)
    f = np.where(t > 0.008856, np.cbrt(np.maximum(t, 0)), 7.787 * t + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def render(page, folder, mode, lamp, pair, spp, seed):
    out = os.path.join(folder, "image.pfm")
    said = report.backlight("render", SCENE, "--mode", mode, "--spp", spp, "--seed", seed, "-o", out, "-D", "lamp=" + text(lamp), "-D",
                            "left=" + text(pair[0]), "-D", "right=" + text(pair[1]))
    page.device = said["device"]
    image = report.read_pfm(out)
    half = image.shape[1] // 2
    return image, [image[:, :half].mean((0, 1)), image[:, half:].mean((0, 1))]


def distance(colours, white):
    return np.linalg.norm(lab(colours[0], white) - lab(colours[1], white))


def expected(mode, lamp, pair):
    """What both sheets show, by integrals."""
    if mode == "rgb":
        return [colour(fine(lamp)) * colour(fine(r) * fine((NM, D65)) / xyz(fine((NM, D65)))[1]) for r in pair]
    return [colour(fine(lamp) * fine(r)) for r in pair]


def run(page, tiny):
    spp, pair = 16 if tiny else 4096, reflectances()
    rows, tiles = [], []
    with tempfile.TemporaryDirectory() as folder:
        for mode in ("rgb", "spectral"):
            tiles.append([])
            for name, lamp in lamps().items():
                white, runs = colour(fine(lamp)), []
                for seed in range(report.TIMES):
                    image, found = render(page, folder, mode, lamp, pair, spp, seed)
                    runs.append([*found[0], *found[1], distance(found, white)])
                *channels, far = report.Measured.columns(runs)
                rows.append([name, mode, *(", ".join(format(c, ".4f") for c in channels[k:k + 3]) for k in (0, 3)), far,
                             float(distance(expected(mode, lamp, pair), white))])
                tiles[-1].append(image)
    shown = np.concatenate([np.concatenate(row, 1) for row in tiles], 0)
    page.picture(report.enlarged(report.screen_bytes(shown), 3))
    page.write("Metamerism", [
        "Two sheets whose reflectances have the same colour in daylight, D65: the second is the first and a wave without the "
        "parts that the eye sees in that light (`assets/papers/metamerism.xml`, %d samples per pixel). In mode `rgb` a "
        "reflectance is its colour in daylight, and a lamp is a colour, so the sheets are the same under every lamp. In mode "
        "`spectral` they are what the eye sees." % spp,
        "![Above rgb, below spectral; daylight, light bulb, three bands](metamerism.png)",
        "*Above `rgb`, below `spectral`; from the left daylight, a light bulb of 2856 K, a lamp of three bands 20 nm wide. Each "
        "shows both sheets.*",
        "The difference is the distance in CIE Lab (1976) with the lamp as white; about 2 can be seen. The last column has it "
        "by integrals of the curves, without the program. Means of %d images with standard errors; noise makes a difference of two "
        "colours longer, which is most of it in daylight." % report.TIMES,
    ], ["lamp", "mode", "left", "right", "difference", "by integrals"], rows, [
        {"title": "reflectances", "x": "wavelength, nm", "y": "",
         "curves": {"left": list(zip(*pair[0])), "right": list(zip(*pair[1]))}}])
