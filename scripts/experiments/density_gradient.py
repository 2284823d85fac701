# SPDX-License-Identifier: BSD-3-Clause
"""The derivative of an image of smoke by its density, in forward mode, beside differences of images with the same random
numbers (figure 3 of the Mitsuba 2 paper)."""
import os
import struct
import tempfile

import numpy as np

import report
import texture_gradients

FOLDER = os.path.join(report.ROOT, "assets", "smoke")
NAME = "smoke.sigma_t.data"
STEP = 0.1  # of a tangent, to both sides
BLOCK = 6  # pixels on a side
SKY = "0.1, 0.12, 0.16"  # a fifth of the scene's, so that smoke in the lamp's light is brighter


def read_grid(path):
    """What comes before the values, and the values: depth x height x width."""
    with open(path, "rb") as f:
        data = f.read()
    width, height, depth = struct.unpack_from("<3i", data, 8)
    return data[:48], np.frombuffer(data[48:], "<f4").reshape(depth, height, width)


def tangents(density):
    """What moves: all densities in proportion, those of a ball in the middle, and those of the plume's lower part."""
    z, y, x = np.meshgrid(*((np.arange(n) + 0.5) / n for n in density.shape), indexing="ij")
    ball = np.exp(-((x - 0.55)**2 + (y - 0.5)**2 + (z - 0.5)**2) / 0.02)
    return [("all", density), ("a ball in the middle", density * ball), ("the lower third", density * (y < 1 / 3))]


def arguments(side, spp, seed, out):
    return ["-D", "resolution=%d" % side, "-D", "sky=" + SKY, "--spp", spp, "--seed", seed, "-o", out]


def forward(page, tangent, side, spp, seeds, folder):
    """An image of derivatives for each seed, and CPU seconds."""
    file, out, found, taken = os.path.join(folder, "tangent.npy"), os.path.join(folder, "out"), [], 0
    np.save(file, tangent.astype(np.float32)[..., None])
    for seed in range(seeds):
        said, seconds = report.timed("grad", os.path.join(FOLDER, "scene.xml"), "--forward", NAME, "--tangent", file,
                                     *arguments(side, spp, seed, out))
        page.device, taken = said["device"], taken + seconds
        found.append(report.read_exr(os.path.join(out, NAME + ".exr")))
    return np.array(found), taken


def differences(head, density, tangent, side, spp, seeds, folder):
    """The same by central differences, a seed for both sides of each."""
    grid, out, found, taken = os.path.join(folder, "moved.vol"), os.path.join(folder, "image.pfm"), [], 0
    for seed in range(seeds):
        images = []
        for sign in (-1, 1):
            with open(grid, "wb") as f:
                f.write(head + (density + sign * STEP * tangent).astype("<f4").tobytes())
            _, seconds = report.timed("render", os.path.join(FOLDER, "scene.xml"), "-D", "density=" + grid,
                                      *arguments(side, spp, 1000 + seed, out))
            taken += seconds
            images.append(report.read_pfm(out))
        found.append((images[1] - images[0]) / (2 * STEP))
    return np.array(found), taken


def blocks(images):
    """Means over blocks and channels: seeds x blocks x blocks."""
    n, many = len(images), images.shape[1] // BLOCK
    return images.reshape(n, many, BLOCK, many, BLOCK, 3).mean((2, 4, 5))


def mean_and_error(values):
    return values.mean(0), values.std(0, ddof=1) / len(values)**0.5


def compare(ours, theirs):
    """z of each block, and how much less the mean square error of one image is by ours."""
    (a, own), (b, other) = (mean_and_error(blocks(images)) for images in (ours, theirs))
    varied = own**2 + other**2 > 0
    z = (a - b)[varied] / np.sqrt(own**2 + other**2)[varied]
    return z, np.mean(theirs.var(0, ddof=1)) / np.mean(ours.var(0, ddof=1))


def run(page, tiny):
    side, spp, seeds = (12, 2, 3) if tiny else (48, 64, 32)
    head, density = read_grid(os.path.join(FOLDER, "smoke.vol"))
    rows, pictures, curves = [], [], {}
    with tempfile.TemporaryDirectory() as folder:
        for name, tangent in tangents(density):
            ours, seconds = forward(page, tangent, side, spp, seeds, folder)
            theirs, taken = differences(head, density, tangent, side, spp, seeds, folder)
            z, gain = compare(ours, theirs)
            rows.append([name, str(z.size), float(np.sqrt(np.mean(z**2))), float(np.abs(z).max()), seconds, taken, gain, gain * taken / seconds])
            means = [images.mean(0).mean(2) for images in (ours, theirs)]
            scale = np.quantile(np.abs(means[0]), 0.99)
            pictures.append(np.concatenate([np.pad(texture_gradients.panel(m, scale, 4 * side), ((2, 2), (2, 2), (0, 0)), constant_values=128)
                                            for m in means], 1))
            if not curves:
                row = len(blocks(ours)[0]) // 2
                for label, images in (("forward mode", ours), ("differences", theirs)):
                    value, error = mean_and_error(blocks(images)[:, row])
                    curves[label] = [(k, v, e) for k, (v, e) in enumerate(zip(value, error))]
    page.picture(np.concatenate(pictures, 0))
    page.write("The derivative of an image by density", [
        "`backlight grad --forward %s --tangent FILE` on `assets/smoke/scene.xml`, %d x %d pixels under a darker sky, beside central differences of images of "
        "which both have the same random numbers (%g of the tangent to both sides). The tangent is the density itself: everywhere, where a ball "
        "is, and in the lower third. Means of %d seeds of %d samples per pixel each; forward mode and differences have different seeds." %
        (NAME, side, side, STEP, seeds, spp),
        "![Derivatives](density_gradient.png)",
        "*Forward mode at the left, differences at the right; all densities, the ball, the lower third. Red: brighter with more smoke. "
        "Blue: darker. Each row has a scale of its own.*",
        "*z* is that of means over blocks of %d x %d pixels, by standard errors over seeds; blocks where nothing changes are left out. Its rms is "
        "to be 1. *times the variance* is what an image by differences has of one by forward mode, and *gain* that times CPU "
        "seconds: how many times as long differences take for the same error. Seconds include the program's start." % (BLOCK, BLOCK),
        "The paper (figure 3) shows one such image of a medium, without a comparison. Along one direction differences are strong, because the same "
        "random numbers cancel much of their noise: here they take %.2g to %.2g times as long as forward mode. They have an error by their step, and "
        "say nothing of directions that were not tried." % (min(r[-1] for r in rows), max(r[-1] for r in rows)),
    ], ["what moves", "blocks", "rms of z", "largest z", "CPU seconds, forward", "CPU seconds, differences", "times the variance", "gain"], rows, [
        {"title": "derivative by all densities, blocks of the middle row", "x": "block", "y": "derivative", "curves": curves}])
