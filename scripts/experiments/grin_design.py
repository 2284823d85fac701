# SPDX-License-Identifier: BSD-3-Clause
"""One cube whose index of refraction varies, found so that light along z shows one picture behind it and light along x
another (Mitsuba 2, figure 10 d and e): light tracing, its gradient by the index, Adam, from coarse to fine."""
import os
import struct
import tempfile
import time

import numpy as np

import report

SCENE = os.path.join(report.ASSETS, "grin.xml")
SIDE = 64  # of pictures
PICTURES = 4  # of the same index, by other samples each
BRIGHTNESS = 0.9025  # of the receiver: light of 1.9 x 1.9 on 2 x 2
# voxels along a side, steps, learning rate
STAGES = ((8, 40, .006), (16, 40, .003), (32, 60, .0015))


def sigmoid(distance):
    return 1 / (1 + np.exp(np.clip(distance * 40, -60, 60)))


def moon(x, y):
    return sigmoid(np.hypot(x, y) - .62) * (1 - sigmoid(np.hypot(x - .28, y - .18) - .52))


def star(x, y):
    tenth, angle, radius = np.pi / 5, np.arctan2(y, x) - np.pi / 2, np.hypot(x, y)
    turned = np.abs((angle + tenth) % (2 * tenth) - tenth)
    tip, dent = np.array([.75, 0]), .315 * np.array([np.cos(tenth), np.sin(tenth)])
    normal = np.array([(dent - tip)[1], -(dent - tip)[0]])
    normal *= np.sign(normal @ tip) / np.linalg.norm(normal)
    return sigmoid((radius * np.cos(turned) - tip[0]) * normal[0] + (radius * np.sin(turned) - tip[1]) * normal[1])


def target(shape):
    at = (np.arange(SIDE) + .5) / SIDE * 2 - 1
    picture = .12 + shape(at[None, :], -at[:, None])
    return picture * BRIGHTNESS / picture.mean()


def write_volume(path, values):
    z, y, x = values.shape
    with open(path, "wb") as f:
        f.write(b"VOL\x03" + struct.pack("<5i6f", 1, x, y, z, 1, 0, 0, 0, 1, 1, 1) + values.astype("<f4").tobytes())


def resized(values, side):
    """Interpolated along each axis; voxels' centres lie at (i + 1/2) / side."""
    for axis in range(3):
        count = values.shape[axis]
        at = (np.arange(side) + .5) / side * count - .5
        values = np.apply_along_axis(lambda v: np.interp(at, np.arange(count), v), axis, values)
    return values


class Design:
    def __init__(self, page, folder, spp):
        self.page, self.folder, self.spp, self.steps = page, folder, spp, 0
        self.targets = [target(moon), target(star)]
        for k in range(2):
            report.write_pfm(self.path("target%d.pfm" % k), np.repeat(self.targets[k][:, :, None], 3, 2))

    def path(self, name):
        return os.path.join(self.folder, name)

    def defines(self, k, **more):
        given = dict({"turn": 90 * k, "index": self.path("index.vol"), "res": SIDE}, **more)
        return [a for name, value in given.items() for a in ("-D", "%s=%s" % (name, value))]

    def gradient(self, values):
        write_volume(self.path("index.vol"), values)
        both = 0
        for k in range(2):
            said = report.backlight("grad", SCENE, "--param", "glass.ior.data", "--target", self.path("target%d.pfm" % k),
                                    "--spp", self.spp, "--seed", self.steps, "-o", self.path("g%d" % k), *self.defines(k))
            self.page.device = said.get("device", self.page.device)
            both = both + np.load(self.path("g%d/glass.ior.data.npy" % k)).reshape(values.shape)
        return both

    def stage(self, values, steps, rate):
        """Steps of Adam; yields the values after each quarter of them."""
        mean, square = np.zeros_like(values), np.zeros_like(values)
        for step in range(1, steps + 1):
            self.steps += 1
            g = self.gradient(values)
            mean, square = .9 * mean + .1 * g, .99 * square + .01 * g * g
            values = values - rate * mean / (1 - .9**step) / (np.sqrt(square / (1 - .99**step)) + 1e-12)
            if step % max(steps // 4, 1) == 0:
                yield values

    def picture(self, values, k, seed=0, **more):
        """What the receiver maps, by other samples than those of the design."""
        write_volume(self.path("index.vol"), values)
        out = self.path("seen.pfm")
        said = report.backlight("render", SCENE, "-o", out, "--spp", 16 * self.spp, "--seed", 4242 + seed,
                                *self.defines(k, **more))
        self.page.device = said.get("device", self.page.device)
        return report.read_pfm(out)[..., 0]

    def correlations(self, values, **more):
        """With both targets: of PICTURES pictures, with standard errors."""
        return report.Measured.columns(
            [[np.corrcoef(self.picture(values, k, seed, **more).ravel(), self.targets[k].ravel())[0, 1] for k in range(2)]
             for seed in range(PICTURES)])


def overview(design, values):
    """Targets over what is seen, and in the third column the index in the middle, across z and across x."""
    top = [t / 4 for t in design.targets]
    below = [design.picture(values, k) / 4 for k in range(2)]
    n, low, high = values.shape[0], values.min(), values.max() + 1e-9
    slices = [(resized(s[None], SIDE)[0] - low) / (high - low) for s in (values[n // 2], values[:, :, n // 2])]
    gap = np.ones((SIDE, 4))
    rows = [np.hstack([a, gap, b, gap, c]) for a, b, c in (top + slices[:1], below + slices[1:])]
    picture = np.vstack([rows[0], np.ones((4, rows[0].shape[1])), rows[1]])
    return np.kron(picture, np.ones((2, 2)))


def run(page, tiny):
    stages = ((4, 2, .006), (8, 1, .003)) if tiny else STAGES
    values, rows, began = np.full((stages[0][0],) * 3, 1.5), [], time.time()
    with tempfile.TemporaryDirectory() as folder:
        design = Design(page, folder, 2 if tiny else 16)
        rows.append(["as it begins", 0] + design.correlations(values) + [1.5, 1.5, 0])
        curves = [[(0, c)] for c in rows[0][2:4]]
        for side, steps, rate in stages:
            for values in design.stage(resized(values, side), steps, rate):
                found = design.correlations(values)
                for k in range(2):
                    curves[k].append((design.steps, found[k]))
            rows.append(["%d^3" % side, design.steps] + found +
                        [float(values.min()), float(values.max()), time.time() - began])
        rows.append(["the same, half the step", design.steps] + design.correlations(values, step=.03) +
                    [float(values.min()), float(values.max()), None])
        page.picture(np.repeat(report.screen_bytes(overview(design, values))[:, :, None], 3, 2))
    page.write("One cube, two pictures", [
        "Collimated light crosses a cube whose index of refraction varies, and falls on a wall behind it. One grid is to show a "
        "moon to light along z, and a star to light along x (Mitsuba 2, figure 10 d and e; `assets/papers/grin.xml`). Light "
        "tracing finds what the wall receives and the gradient of its squared error by the index "
        "([gradient-index media](../theory/gradient_index.md)); Adam follows it, on grids from coarse to fine, with %d samples "
        "per pixel. The border of the cube does not refract: that is a cube in surroundings of its own index." %
        (2 if tiny else 16),
        "![Targets, what is seen, and the index](grin_design.png)",
        "Above the pictures that were wanted, below what the wall receives, and on the right the index in the middle of the "
        "cube, across z and across x. Correlations are those of pictures by other samples, 16 times as many: means of %d pictures, whose "
        "standard errors say how well a picture is known, not how another design would come out." % PICTURES,
    ], ["grid", "steps", "correlation, moon", "correlation, star", "least index", "largest index", "seconds"], rows,
        [{"title": "correlation with the picture", "x": "steps", "y": "correlation",
          "curves": {"moon": curves[0], "star": curves[1]}}])
