# SPDX-License-Identifier: BSD-3-Clause
"""The colours of a scattering slab that is to look like a picture: extruded by a table, and fitted (figures 9d and 13 of the
Mitsuba 2 paper)."""
import json
import os
import struct
import tempfile

import numpy as np

import report

SCENE = os.path.join(report.ASSETS, "slab.xml")
NAME, SEEN, LAYERS, SEEDS = "ink.albedo.data", 0.9, 8, 3  # SEEN: half the side of what the camera sees; the slab's is 1
ALBEDOS = [0, 0.2, 0.4, 0.6, 0.75, 0.85, 0.92, 0.96, 0.98, 0.99, 1]


def wanted(x, y):
    """The picture: coloured discs and bars on a light ground, on [-1, 1]^2; one more axis at the end for colours."""
    x, y = np.broadcast_arrays(x, y)
    out = np.full(x.shape + (3,), 0.7)
    out[(x + 0.35)**2 + (y - 0.3)**2 < 0.3**2] = (0.65, 0.12, 0.1)
    out[(x - 0.4)**2 + (y - 0.4)**2 < 0.22**2] = (0.1, 0.2, 0.6)
    out[(y < -0.15) & (np.floor(x * 6) % 2 == 0)] = (0.12, 0.4, 0.15)
    return out


def wanted_grid(side):
    """The picture's colours as albedos, LAYERS times one behind the other."""
    at = 2 * (np.arange(side) + 0.5) / side - 1
    return np.repeat(wanted(at[None, :], at[:, None])[None], LAYERS, 0)


def picture(side):
    """At the centres of pixels; each is the mean of 4 x 4 points."""
    at = SEEN * (2 * (np.arange(4 * side) + 0.5) / (4 * side) - 1)
    fine = wanted(at[None, :], -at[:, None])  # the first row is the uppermost
    return fine.reshape(side, 4, side, 4, 3).mean((1, 3))


def write_grid(path, albedo):
    """depth x height x width x channels"""
    with open(path, "wb") as f:
        f.write(b"VOL\x03" + struct.pack("<5i6f", 1, *albedo.shape[2::-1], albedo.shape[3], 0, 0, 0, 1, 1, 1) + albedo.astype("<f4").tobytes())


def render(page, path, side, spp, folder):
    out = os.path.join(folder, "image.pfm")
    page.device = report.backlight("render", SCENE, "-D", "resolution=%d" % side, "-D", "albedo=" + path, "--spp", spp, "--seed", 5,
                                   "-o", out)["device"]
    return report.read_pfm(out)


def table(page, spp, folder):
    """What a slab of one albedo reflects, for ALBEDOS: the mean far from its borders."""
    path, found = os.path.join(folder, "one.vol"), []
    for a in ALBEDOS:
        write_grid(path, np.full((2, 2, 2, 3), a))
        found.append(render(page, path, 8, spp, folder)[2:6, 2:6].mean())
    return found


def off(error):
    """L1, root mean square and the largest of an image's errors."""
    return np.abs(error).mean(), np.sqrt((error**2).mean()), np.abs(error).max()


def fit(path, target, side, steps, spp, seed, folder):
    """The fitted grid, the columns of fit.csv, CPU seconds. It starts from the scene's own grid."""
    job = {"scene": SCENE, "target": target, "loss": "l1", "optimizer": {"type": "adam", "beta_2": 0.99},
           "parameters": [{"name": NAME, "rate": 0.03, "bounds": [0, 1]}],
           "schedule": [{"step": steps // 2 + 1, "factor": 0.3}], "steps": steps, "spp": spp, "seed": seed}
    name, out = os.path.join(folder, "job.json"), os.path.join(folder, "out")
    with open(name, "w") as f:
        json.dump(job, f)
    _, seconds = report.timed("fit", name, "-D", "resolution=%d" % side, "-D", "albedo=" + path, "-o", out)
    return np.load(os.path.join(out, NAME + ".npy")), report.read_steps(out), seconds


def run(page, tiny):
    side, steps, spp, many = (8, 3, 2, 4) if tiny else (32, 250, 24, 1024)
    with tempfile.TemporaryDirectory() as folder:
        path, target = os.path.join(folder, "ink.vol"), os.path.join(folder, "target.pfm")
        shown = picture(side)
        report.write_pfm(target, shown)
        reflected = table(page, many, folder)
        write_grid(path, np.interp(wanted_grid(side), reflected, ALBEDOS))
        naive = render(page, path, side, many, folder)
        runs = []
        for seed in range(1, 1 + SEEDS):
            grid, columns, seconds = fit(path, target, side, steps, spp, seed, folder)
            write_grid(os.path.join(folder, "fitted.vol"), grid)
            fitted = render(page, os.path.join(folder, "fitted.vol"), side, many, folder)
            runs.append(off(fitted - shown))
    errors = [np.abs(image - shown) for image in (naive, fitted)]
    scale = errors[0].max()
    tiles = [naive, fitted, shown] + [e / scale for e in errors]
    page.picture(report.enlarged(report.screen_bytes(np.concatenate(tiles, 1)), 4))
    rows = [["extruded", *off(naive - shown)], ["fitted", *report.Measured.columns(runs)]]
    page.write("The colours of a scattering slab", [
        "A slab of a scattering medium in smooth glass (`assets/papers/slab.xml`, mean free path 1 / 48 of its width, up to 64 "
        "segments, %d x %d pixels) is to look like a picture with sharp borders. Its albedo is a grid of %d x %d x %d. The start is what the paper "
        "calls naive: a table says what slabs of one albedo reflect; each column of the grid takes the albedo whose reflectance the picture has "
        "there. Then %d steps of Adam with L1 and %d samples per pixel fit all of the grid, in %.0f CPU seconds. Means of %d fits with other random numbers, with standard errors; pictures are of the last." %
        (side, side, side, side, LAYERS, steps, spp, seconds, SEEDS),
        "![Extruded, fitted, wanted, and both errors](ink.png)",
        "*From the left: extruded, fitted, wanted; what both are off by, in one scale.*",
        "Light spreads between columns, so what is extruded has too little contrast at borders. The paper shows (figure 13) that the fit makes up for it. "
        "Here the fit leaves %.2f of the L1 error." % (rows[1][1] / rows[0][1]),
    ], ["slab", "L1", "root mean square", "largest"], rows, [
        {"title": "loss", "x": "step", "y": "L1 of a step's noisy image", "log_y": True, "curves": {"": list(zip(columns["step"], columns["loss"]))}},
        {"title": "reflectance of a slab", "x": "albedo", "y": "reflectance", "curves": {"": list(zip(ALBEDOS, reflected))}}])
