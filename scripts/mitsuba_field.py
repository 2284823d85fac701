# SPDX-License-Identifier: BSD-3-Clause
"""The reconstruction of a radiance field in Mitsuba 3, as `backlight import` describes it:
`scripts/compare-mitsuba field` compares with it.

It reads the job and its scene, and does what `backlight fit` does, with Dr.Jit's own means: Texture3f looks
up, Adam steps, symbolic loops march. The march and its replay are those of docs/theory/radiance_fields.md
(Path Replay Backpropagation for Radiance Field Rendering, equations 1 to 6): a fixed step, one random offset
for a ray, softplus and sigmoid after interpolation. The gradient counts every sample and all of its voxels,
and no space is skipped: Mitsuba's own radiance fields do neither. Loop, loss and replay are one kernel.

    mitsuba_field.py JOB.json [FIELD...]     under Mitsuba's python. One line of JSON: PSNR of the views that
    were held out, CPU and wall seconds, and
                                             the PSNR of other fields (folders of `backlight fit`) as this
                                             march sees them."""
import json
import math
import os
import sys
import time
import xml.etree.ElementTree as xml

START = time.monotonic()  # what follows takes a second

import drjit as dr
import mitsuba as mi
import numpy as np

mi.set_variant("llvm_ad_rgb")

LEAST_TRANSMITTANCE = 1e-4
SMOOTHING = 1e-3  # of the total variation
SPP = 4           # of views that are held out; as in the scene that `backlight import` writes
NAMES = ["field.density.data", "field.sh_coeffs.data"]


# ---- the job ----

class Job:
    def __init__(self, path):
        folder = os.path.dirname(path)
        with open(path) as f:
            self.text = json.load(f)
        scene = xml.parse(os.path.join(folder, self.text["scene"])).getroot()

        def number(where, name):
            return float(scene.find(".//%s/*[@name='%s']" % (where, name)).get("value"))

        self.width, self.height = int(number("film", "width")), int(number("film", "height"))
        self.tangent = math.tan(math.radians(number("sensor", "fov")) / 2)
        scale, translate = scene.find(".//field/transform/scale"), scene.find(".//field/transform/translate")
        self.size, self.corner = ([float(e.get(axis)) for axis in "xyz"] for e in (scale, translate))
        self.first = [number("volume[@name='%s']" % v, "value") for v in ("density", "sh_coeffs")]
        self.channels = [1, int(number("volume[@name='sh_coeffs']", "channels"))]
        held_out = set(self.text["held_out"])
        self.seen = [v for k, v in enumerate(self.text["views"]) if k not in held_out]
        self.unseen = [v for k, v in enumerate(self.text["views"]) if k in held_out]
        self.folder = folder

    def images(self, views):
        return np.concatenate([read_image(os.path.join(self.folder, v["target"]),
                                          self.text["background"]).reshape(-1, 3) for v in views])

    def factor(self, step):
        return [1.0] + [s["factor"] for s in self.text["schedule"] if s["step"] <= step]


def read_image(path, background):
    """Linear colours in front of a background."""
    image = np.array(mi.Bitmap(path)).astype(float) / 255
    colour = np.where(image[..., :3] <= 0.04045, image[..., :3] / 12.92,
                      ((image[..., :3] + 0.055) / 1.055) ** 2.4)
    return (colour * image[..., 3:] + (1 - image[..., 3:])
            * np.array(background)).astype("f4") if image.shape[2] == 4 else colour.astype("f4")


def psnr(image, target):
    """Of displayed images, the mean over views: [view, value]."""
    def displayed(x):
        x = np.clip(x.astype(float), 0, 1)
        return np.where(x <= 0.0031308, 12.92 * x, 1.055 * x ** (1 / 2.4) - 0.055)
    return float(np.mean(-10 * np.log10(np.mean((displayed(image) - displayed(target)) ** 2, axis=1))))


# ---- the field ----

class Field:
    def __init__(self, job, values):
        """values: two tensors [z, y, x, channel], raw."""
        self.job, self.degree = job, int(math.sqrt(job.channels[1] / 3)) - 1
        self.textures = [mi.Texture3f(v, wrap_mode=dr.WrapMode.Clamp) for v in values]
        self.step = mi.Float(min(s / n for s, n in zip(job.size, reversed(values[0].shape[:3])))
                             / 2)  # half a voxel
        dr.make_opaque(self.step)

    def query(self, p, basis):
        """Extinction and colour at a point of the unit cube."""
        raw, coefficients = self.textures[0].eval(p)[0], self.textures[1].eval(p)
        density = dr.maximum(raw, 0) + dr.log(1 + dr.exp(-dr.abs(raw)))
        colour = [sum(coefficients[3 * k + c] * basis[k] for k in range(len(basis))) for c in range(3)]
        return density, mi.Color3f([1 / (1 + dr.exp(-c)) for c in colour])

    def segment(self, o, d, offset):
        """A ray in the unit cube, and the numbers of its samples there."""
        size, corner = mi.Vector3f(self.job.size), mi.Point3f(self.job.corner)
        o, d = (o - corner) / size, d / size
        safe = dr.select(dr.abs(d) < 1e-12, 1e-12, d)
        a, b = -o / safe, (1 - o) / safe
        near, far = dr.maximum(dr.max(dr.minimum(a, b)), 0), dr.maximum(dr.min(dr.maximum(a, b)), 0)
        first, last = (mi.UInt32(dr.maximum(dr.ceil(t / self.step - offset), 0)) for t in (near, far))
        return o, d, first, last

    @dr.syntax
    def march(self, o, d, offset):
        """Emitted radiance and transmittance."""
        basis = dr.sh_eval(d, self.degree)
        q, w, i, last = self.segment(o, d, offset)
        light, left = mi.Color3f(0), mi.Float(1)
        while (i < last) & (left >= LEAST_TRANSMITTANCE):
            density, colour = self.query(q + w * ((mi.Float(i) + offset) * self.step), basis)
            through = dr.exp(-density * self.step)
            light += left * (1 - through) * colour
            left *= through
            i += 1
        return light, dr.select(left < LEAST_TRANSMITTANCE, 0, left)

    @dr.syntax
    def replay(self, o, d, offset, remaining, by):
        """Backpropagates `by`, the derivative by the radiance of each ray; remaining: that radiance, with
        what lies behind the field."""
        basis = dr.sh_eval(d, self.degree)
        q, w, i, last = self.segment(o, d, offset)
        remaining, left = mi.Color3f(remaining), mi.Float(1)
        while (i < last) & (left >= LEAST_TRANSMITTANCE):
            p = q + w * ((mi.Float(i) + offset) * self.step)
            with dr.resume_grad():
                density, colour = self.query(p, basis)
                thickness = density * self.step
                through = dr.exp(-dr.detach(thickness))
                weight = left * (1 - through)
                dr.backward(dr.sum(by * (weight * colour + (left * dr.detach(colour) - remaining)
                                         * thickness)))
            remaining -= weight * dr.detach(colour)
            left *= through
            i += 1


# ---- cameras ----

class Cameras:
    def __init__(self, job, views):
        self.job = job
        self.poses = mi.Float(np.array([v["to_world"] for v in views], "f4").ravel())

    def rays(self, pixel, sampler):
        """Through random points of pixels, which are numbered through all views."""
        job = self.job
        inside = pixel % (job.width * job.height)
        at = mi.Point2f(mi.Float(inside % job.width), mi.Float(inside // job.width)) + sampler.next_2d()
        x = (1 - 2 * at.x / job.width) * job.tangent
        y = (1 - 2 * at.y / job.height) * job.tangent * job.height / job.width
        view = pixel // (job.width * job.height)
        m = [dr.gather(mi.Float, self.poses, view * 16 + k) for k in range(12)]
        d = dr.normalize(mi.Vector3f(*(m[4 * r] * x + m[4 * r + 1] * y + m[4 * r + 2] for r in range(3))))
        return mi.Point3f(m[3], m[7], m[11]), d


def held_out(job, values):
    """PSNR of views that no step saw."""
    field, count = Field(job, values), job.width * job.height * len(job.unseen)
    sampler = mi.load_dict({"type": "independent"})
    sampler.seed(1, count * SPP)
    o, d = Cameras(job, job.unseen).rays(dr.arange(mi.UInt32, count * SPP) // SPP, sampler)
    light, left = field.march(o, d, sampler.next_1d())
    image = dr.ravel(light + left * mi.Color3f(job.text["background"]))
    image = image.numpy().reshape(count, SPP, 3).mean(axis=1)
    return psnr(image.reshape(len(job.unseen), -1), job.images(job.unseen).reshape(len(job.unseen), -1))


# ---- the fit ----

class Variation:
    """The slope of the smoothed total variation of a grid, by its values."""

    def __init__(self, shape):
        self.at = dr.arange(mi.UInt32, math.prod(shape))
        self.axes, stride = [], shape[3]
        for length in reversed(shape[:3]):
            self.axes.append((stride, length))
            stride *= length

    def difference(self, x, i, stride, length):
        """To the next value along the axis."""
        has = (i // stride) % length + 1 < length
        return dr.gather(mi.Float, x, i + stride, has) - dr.select(has, dr.gather(mi.Float, x, i), 0)

    def slope(self, x):
        parts = [self.difference(x, self.at, *axis) for axis in self.axes]
        inverse = dr.rsqrt(SMOOTHING**2 + sum(d * d for d in parts))
        dr.eval(inverse)
        total = -sum(parts) * inverse
        for stride, length in self.axes:
            before = self.at - stride
            has = (self.at // stride) % length > 0
            total += dr.select(has, (x - dr.gather(mi.Float, x, before, has))
                               * dr.gather(mi.Float, inverse, before, has), 0)
        return total


def resampled(texture, side, channels):
    """The values of a texture at the voxels of a finer grid."""
    at = dr.arange(mi.UInt32, side**3)
    p = mi.Point3f(*(mi.Float(i) for i in (at % side, at // side % side, at // (side * side))))
    return mi.TensorXf(dr.ravel(mi.ArrayXf(texture.eval((p + 0.5) / side))),
                       shape=(side, side, side, channels))


class Fit:
    def __init__(self, job):
        self.job, self.step = job, 0
        self.cameras, self.targets = Cameras(job, job.seen), mi.Float(job.images(job.seen).ravel())
        self.random, self.drawn = np.random.default_rng(0), np.empty(0, "u4")
        self.sampler = mi.load_dict({"type": "independent"})
        self.values = None

    def draw(self):
        """Pixels of a step; none comes again before all others have."""
        count = self.job.text["batch"]
        while len(self.drawn) < count:
            self.drawn = np.append(self.drawn,
                                   self.random.permutation(dr.width(self.targets) // 3).astype("u4"))
        batch, self.drawn = self.drawn[:count], self.drawn[count:]
        return mi.UInt32(np.sort(batch))

    def start(self, sides):
        """The grids of a stage, from those of the one before."""
        shapes = [(*side, channels) for side, channels in zip(sides, self.job.channels)]
        if self.values is None:
            self.values = [dr.full(mi.TensorXf, value, shape) for value, shape in zip(self.job.first, shapes)]
        else:
            self.values = [resampled(mi.Texture3f(v, wrap_mode=dr.WrapMode.Clamp), *s[2:])
                           for v, s in zip(self.values, shapes)]
        dr.eval(self.values)
        self.variation = [Variation(s) for s in shapes]
        self.adam = mi.ad.Adam(lr=0.05)
        for name, v in zip(NAMES, self.values):
            self.adam[name] = v

    def gradient(self, values):
        """Of the mean squared error over the pixels of one step."""
        for v in values:
            dr.enable_grad(v)
        field, pixel = Field(self.job, values), self.draw()
        with dr.suspend_grad():
            self.sampler.seed(self.step, dr.width(pixel))
            o, d = self.cameras.rays(pixel, self.sampler)
            offset = self.sampler.next_1d()
            light, left = field.march(o, d, offset)
            light += left * mi.Color3f(self.job.text["background"])
            by = 2 / (3 * dr.width(pixel)) * (light - dr.gather(mi.Color3f, self.targets, pixel))
            field.replay(o, d, offset, light, by)
        return [dr.grad(v) for v in values]

    def one_step(self):
        self.step += 1
        settings = self.job.text["parameters"]
        gradients = self.gradient([mi.TensorXf(dr.detach(self.adam[name])) for name in NAMES])
        for name, g, p, variation in zip(NAMES, gradients, settings, self.variation):
            x = self.adam[name]
            slope = variation.slope(dr.detach(x.array)) * (p["total_variation"] / x.array.__len__())
            dr.set_grad(x, mi.TensorXf(g.array + slope, shape=x.shape))
        self.adam.set_learning_rate({p["name"]: p["rate"] * self.job.factor(self.step)[-1] for p in settings})
        self.adam.step()

    def run(self):
        for stage in self.job.text["stages"]:
            self.start([stage["resolution"][name] for name in NAMES])
            for _ in range(stage["steps"]):
                self.one_step()
            self.values = [dr.detach(self.adam[name]) for name in NAMES]
            dr.sync_thread()
            print("mitsuba: %d steps, %.1f CPU seconds" % (self.step, time.process_time()), file=sys.stderr,
                  flush=True)


def main():
    job = Job(sys.argv[1])
    fit = Fit(job)
    fit.run()
    out = {"psnr": held_out(job, fit.values), "fields": []}
    out.update(cpu=time.process_time(), wall=time.monotonic() - START)
    for folder in sys.argv[2:]:
        values = [mi.TensorXf(np.load(os.path.join(folder, name + ".npy")).astype("f4")) for name in NAMES]
        out["fields"].append(held_out(job, values))
    print(json.dumps(out))


if __name__ == "__main__":
    main()
