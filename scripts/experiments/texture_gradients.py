# SPDX-License-Identifier: BSD-3-Clause
"""Gradients by textures as images: an albedo, a roughness and normals, detached, against a stored tape, and normals of smooth
glass, attached, against differences (figures 5 and 7 of the path replay paper)."""
import os
import tempfile

import numpy as np

import report

SCENE = os.path.join(report.ASSETS, "panels.xml")
TEXTURES = [("albedo", "floor.reflectance.data"), ("roughness", "rough.alpha.data"), ("normals", "bent.normalmap.data")]
METHODS = [("prb", "path replay"), ("tape", "stored tape"), ("rb", "radiative"), ("rb_biased1", "biased I")]
LENS = "clear.normalmap.data"
PANE = ["-D", "lens=clear", "-D", "look=0, 0.2, 4"]  # the sky alone is behind it
STEP = 0.02  # of the normal map's values, of the differences


def blurred(image, reach):
    """The mean over a square of 2 reach + 1 pixels, which is smaller at the border."""
    out = np.zeros_like(image)
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            out[y, x] = image[max(0, y - reach):y + reach + 1, max(0, x - reach):x + reach + 1].mean((0, 1))
    return out


def weights(path, side, spp, folder, *defines):
    """Writes what to propagate back: the image less a blurred one."""
    out = os.path.join(folder, "image.pfm")
    report.backlight("render", SCENE, "-D", "resolution=%d" % side, *defines, "--spp", spp, "--seed", 77, "-o", out)
    image = report.read_pfm(out)
    report.write_pfm(path, (image - blurred(image, 3)) / side**2)


def gradients(page, method, names, adjoint, side, spp, repetitions, seed, folder, *defines):
    """By name: the mean of so many gradients and its standard errors; and the CPU seconds of all."""
    out = os.path.join(folder, "out")
    said, seconds = report.timed("grad", SCENE, "-D", "resolution=%d" % side, *defines, "--integrator", method, "--edges", "none",
                                 "--adjoint", adjoint, "--spp", spp, "--variance", repetitions, "--seed", seed, "-o", out,
                                 "--param", *names)
    page.device = said["device"]
    return {n: (np.load(os.path.join(out, n + ".npy")).astype(float),
                (np.load(os.path.join(out, n + ".variance.npy")).astype(float) / repetitions)**0.5) for n in names}, seconds


def correlation(a, b):
    return float(np.corrcoef(a.ravel(), b.ravel())[0, 1])


def wrong_signs(a, error, b, other):
    """Of texels that both know to three standard errors: how many have opposite signs, and how many there are."""
    known = (np.abs(a) > 3 * error) & (np.abs(b) > 3 * other)
    return int((known & (a * b < 0)).sum()), int(known.sum())


def panel(values, scale, side):
    """Red where positive, blue where negative, white where 0."""
    v = np.clip(values / scale, -1, 1)
    shown = np.stack([1 - np.maximum(-v, 0), 1 - np.abs(v), 1 - np.maximum(v, 0)], 2)
    times = side // v.shape[0]
    return report.enlarged(np.round(255 * shown).astype(np.uint8), times)[:side, :side]


def differences(adjoint, side, spp, seeds, normals, direction, folder):
    """The weighted image's slope along a direction of the lens's normals: mean and standard error over seeds, with the same
    random numbers on both sides of a difference."""
    w, found = report.read_pfm(adjoint), []
    for seed in range(seeds):
        sums = []
        for sign in (-1, 1):
            moved, out = os.path.join(folder, "moved.pfm"), os.path.join(folder, "image.pfm")
            report.write_pfm(moved, normals + sign * STEP * direction)
            report.backlight("render", SCENE, "-D", "resolution=%d" % side, *PANE, "-D", "lens_normals=" + moved,
                             "--spp", spp, "--seed", 1000 + seed, "-o", out)
            sums.append((w * report.read_pfm(out)).sum())
        found.append((sums[1] - sums[0]) / (2 * STEP))
    return np.mean(found), np.std(found, ddof=1) / seeds**0.5


def directions(shape):
    """Of the normal's x and y: smooth bumps, each in a quarter of the pane."""
    v, u = ((np.arange(n) + 0.5) / n for n in shape[:2])
    for channel in (0, 1):
        for a, b in ((0.3, 0.3), (0.7, 0.6)):
            bump = np.zeros(shape)
            bump[:, :, channel] = np.exp(-((u[None] - a)**2 + (v[:, None] - b)**2) / 0.04)
            yield "xy"[channel] + " near %g, %g" % (a, b), bump


def detached(page, sizes, folder):
    """Rows of the table, rows of panels, and the repeatability of path replay by texture."""
    side, spp, repetitions = sizes
    adjoint, names = os.path.join(folder, "weights.pfm"), [n for _, n in TEXTURES]
    weights(adjoint, side, 16 * spp, folder)
    found = [gradients(page, m, names, adjoint, side, spp, repetitions, 1 + 100000 * k, folder) for k, (m, _) in enumerate(METHODS)]
    again, _ = gradients(page, "prb", names, adjoint, side, spp, repetitions, 900001, folder)
    rows, tiles, repeatable = [], [], []
    for what, name in TEXTURES:
        tape, error = found[1][0][name]
        repeatable.append("%s %.3f" % (what, correlation(found[0][0][name][0], again[name][0])))
        scale = np.quantile(np.abs(tape[..., 0]), 0.98)
        tiles.append([panel(f[name][0][..., 0], scale, 96) for f, _ in found])
        for (f, seconds), (method, label) in zip(found, METHODS):
            mean, own = f[name]
            bad, of = wrong_signs(mean, own, tape, error)
            rows.append([what, label, None if method == "tape" else correlation(mean, tape),
                         float((mean * tape).sum() / (tape * tape).sum()), None if method == "tape" else "%d of %d" % (bad, of),
                         seconds])
    return rows, tiles, repeatable


def attached(page, sizes, seeds, folder):
    """Sentences and panels of the pane of glass."""
    side, spp, repetitions = sizes
    adjoint = os.path.join(folder, "weights.pfm")
    weights(adjoint, side, 16 * spp, folder, *PANE)
    found = {m: gradients(page, m, [LENS], adjoint, side, spp, repetitions, 1, folder, *PANE)[0][LENS]
             for m in ("prb_attached", "prb_detached", "rb")}
    normals = report.read_pfm(os.path.join(report.ASSETS, "normals.pfm"))
    lines, scale = [], np.quantile(np.abs(found["prb_attached"][0][..., 0]), 0.98)
    for what, direction in directions(normals.shape):
        slope, error = differences(adjoint, side, 4 * spp, seeds, normals, direction, folder)
        value, own = (float((found["prb_attached"][0] * direction).sum()),
                      float(((found["prb_attached"][1] * direction)**2).sum()**0.5))
        lines.append((what, value, own, slope, error, (value - slope) / (own**2 + error**2)**0.5,
                      float((found["prb_detached"][0] * direction).sum()), float((found["rb"][0] * direction).sum())))
    return lines, [panel(found[m][0][..., 0], scale, 96) for m in found]


def run(page, tiny):
    sizes, seeds = ((8, 2, 2), 2) if tiny else ((48, 64, 24), 12)
    with tempfile.TemporaryDirectory() as folder:
        rows, tiles, repeatable = detached(page, sizes, folder)
        lines, glass = attached(page, sizes, seeds, folder)
    tiles.append(glass + [np.full_like(glass[0], 255)])
    shown = np.concatenate([np.concatenate([np.pad(t, ((2, 2), (2, 2), (0, 0)), constant_values=128) for t in row], 1) for row in tiles], 0)
    page.picture(shown)
    page.write("Gradients by textures", [
        "A patterned floor, a plate whose roughness has a texture and a plate with a normal map (`assets/papers/panels.xml`, %d x %d "
        "pixels, paths of up to 6 segments): the image less a blurred one is propagated back, as in figure 5 of the paper. Means of %d gradients of "
        "%d samples per pixel. *scale* is the slope of a line through 0 from the tape's texels to the method's; signs are those of texels that "
        "both know to three standard errors." % (sizes[0], sizes[0], sizes[2], sizes[1]),
        "![Gradient images](texture_gradients.png)",
        "*From above: albedo, roughness, normals (x), by path replay, stored tape, radiative backpropagation, Biased I. Below: normals of a pane of "
        "smooth glass, by attached path replay, detached path replay, radiative backpropagation. Red is positive, blue negative; a row has one scale.*",
        "The paper finds that path replay and radiative backpropagation match automatic differentiation, and that Biased I has a wrong scale for "
        "albedo and wrong signs for roughness and normals. What two independent runs of path replay correlate by is the most that noise allows: %s."
        % ", ".join(repeatable),
        "A pane of smooth glass with a normal map hangs before the sky, so that no edge is behind it (figure 7 of the paper). Its gradient needs directions that follow the "
        "normal. Against differences of images with the same random numbers, along four bumps of the map: %s. The rms of z is %.2f. "
        "Detached path replay sees Fresnel's coefficients alone there, and radiative backpropagation too; the paper gives 0 for it." %
        ("; ".join("%s: attached %.3g ± %.2g, difference %.3g ± %.2g, z %.1f (detached %.2g, radiative %.2g)" % line for line in lines),
         np.sqrt(np.mean([line[5]**2 for line in lines]))),
    ], ["texture", "method", "correlation with the tape", "scale", "opposite signs", "CPU seconds"], rows, [
        {"title": "pane of glass", "x": "bump of the normal map", "y": "derivative along it",
         "curves": {"attached": [(k, line[1], line[2]) for k, line in enumerate(lines)],
                    "difference": [(k, line[3], line[4]) for k, line in enumerate(lines)],
                    "detached": [(k, line[6], 0) for k, line in enumerate(lines)]}}])
