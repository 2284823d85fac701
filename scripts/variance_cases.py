# SPDX-License-Identifier: BSD-3-Clause
"""The scenes of scripts/compare-variance, and gradients of them from many seeds.

Gradients are by dL/dI. That is W, a smooth image of both signs, which is given (`weights`); or it comes of an image
that has noise of its own: L is the mean squared difference to the picture I - s W, which is a fifth of I away from it
(`picture`), so that dL/dI is W but for a factor."""
import collections
import ctypes
import itertools
import json
import os
import re
import resource
import subprocess
import tempfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.environ.get("BL_PROGRAM", os.path.join(ROOT, "build", "backlight"))
REFERENCE = os.path.join(ROOT, "tests", "reference")
MUCH = 4096  # samples of the image I

COLOURS = ["white.reflectance.value", "red.reflectance.value", "light.emitter.radiance.value"]
# name: scene, variables, parameters
ASSETS = {
    "cornell": ("cornell/scene.xml", ["resolution=32"], COLOURS),
    "cornell_patch": ("cornell/scene.xml", ["resolution=32"], COLOURS),  # W is 0 but on a small part of the film
    "materials": ("pictures/materials.xml", ["width=36", "height=24"],
                  ["shape_1.bsdf.diffuse_reflectance.value", "shape_2.bsdf.alpha.value", "shape_2.bsdf.eta.value",
                   "shape_3.bsdf.specular_transmittance.value", "shape_4.bsdf.base_color.value",
                   "shape_4.bsdf.roughness.value"]),
    "room": ("room/scene.xml", ["side=32"], ["walls.reflectance.data", "emitter.intensity.value"]),
    "relief": ("relief/scene.xml", [], ["relief.vertex_positions", "relief.bsdf.reflectance.value"]),
    "smoke": ("smoke/scene.xml", [], ["smoke.sigma_t.data", "smoke.albedo.value.value", "sky.radiance.value"]),
    "ball": ("shapes/ball.xml", ["side=32"], ["ball.bsdf.reflectance.value", "ball.translation"]),
    "metal_in_glass": ("papers/metal_in_glass.xml", ["resolution=32"],
                       ["metal.alpha.value", "metal.specular_reflectance.value", "glass.eta",
                        "floor.reflectance.value"]),
}
# A principled material that light goes through, in the scene of the reference case `principled`.
GLASS = ('<bsdf type="principled" id="coat"><rgb name="base_color" value="0.7, 0.4, 0.25"/><float name="roughness" '
         'value="0.35"/><float name="spec_trans" value="0.7"/><float name="eta" value="1.5"/><float name="clearcoat" '
         'value="0.6"/><float name="clearcoat_gloss" value="0.6"/></bsdf>')
GLASS_PARAMETERS = ["coat.base_color.value", "coat.roughness.value", "coat.spec_trans.value", "coat.eta",
                    "coat.clearcoat.value", "coat.clearcoat_gloss.value"]

Way = collections.namedtuple("Way", "towards form sampler pixels")
PLAIN = Way("weights", "separate", "independent", "uniform")


class Failed(Exception):
    """With what the program said."""


class Case:
    """A scene, W, and parameters. `expected`: expected.json of a reference case, None of other scenes.
    `text`: the scene's text, in place of that of its file; resources are found beside the file."""

    def __init__(self, name, scene, parameters, defines=(), adjoint=None, expected=None, text=None):
        self.name, self.scene, self.adjoint, self.expected = name, scene, adjoint, expected
        self.parameters, self.defines, self.text = list(parameters), list(defines), text


def reference_cases():
    for name in sorted(os.listdir(REFERENCE)):
        path = os.path.join(REFERENCE, name, "expected.json")
        if os.path.exists(path):
            with open(path) as f:
                expected = json.load(f)
            folder = os.path.dirname(path)
            yield Case(name, os.path.join(folder, "scene.xml"), expected["parameters"],
                       adjoint=os.path.join(folder, "adjoint.exr"), expected=expected)


def asset_cases():
    for name, (path, defines, parameters) in ASSETS.items():
        yield Case(name, os.path.join(ROOT, "assets", path), parameters, defines)
    path = os.path.join(REFERENCE, "principled", "scene.xml")
    with open(path) as f:
        text, count = re.subn(r'<bsdf type="principled".*?</bsdf>', GLASS, f.read())
    assert count == 1
    yield Case("principled_glass", path, GLASS_PARAMETERS, text=text,
               adjoint=os.path.join(REFERENCE, "principled", "adjoint.exr"))


# ---- images ----

def write_pfm(path, image):
    with open(path, "wb") as f:
        f.write(b"PF\n%d %d\n-1.0\n" % (image.shape[1], image.shape[0]) + image[::-1].astype("<f4").tobytes())


def read_image(path):
    """By the library beside the program: height x width x 3."""
    library = ctypes.CDLL(os.path.join(os.path.dirname(PROGRAM), "libbacklight.so"))
    context, sides, values = ctypes.c_void_p(), [ctypes.c_uint32() for _ in range(3)], ctypes.POINTER(ctypes.c_float)()
    if library.bl_context_create(None, ctypes.byref(context)) or library.bl_image_read(
            context, path.encode(), *map(ctypes.byref, sides), ctypes.byref(values)):
        raise Failed("%s cannot be read" % path)
    width, height, channels = (side.value for side in sides)
    return np.ctypeslib.as_array(values, (height, width, channels)).astype(float)


def waves(height, width, patch):
    """A smooth image of both signs; a patch of it, the rest is 0."""
    y, x = (np.arange(n) / n for n in (height, width))
    out = np.stack([np.sin(2 * np.pi * (x[None] + 0.13 * c)) * np.cos(np.pi * (2 * y[:, None] - 0.21 * c)) + 0.3
                    for c in range(3)], axis=-1)
    if patch:
        seen = np.zeros_like(out)
        seen[height * 5 // 8:height * 7 // 8, width // 2:width * 3 // 4] = 1
        out *= seen
    return out


# ---- runs ----

def run(arguments):
    """Runs the program; its user CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    r = subprocess.run([PROGRAM] + arguments + ["--quiet"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                       text=True)
    if r.returncode:
        raise Failed("%s (backlight %s)" % (r.stderr.strip().replace("backlight: ", ""), " ".join(arguments)))
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def with_ids(text):
    """Shapes without a name get the one that Backlight gives them, so that Mitsuba knows them by it, too."""
    number = itertools.count()

    def named(tag):
        if ' id="' in tag[0]:
            return tag[0]
        k = next(number)
        return tag[0][:-1] + ' id="shape%s">' % ("_%d" % k if k else "")

    return re.sub(r"<shape [^>]*[^/]>", named, text)


class Prepared:
    """A case in a folder of its own, with what its gradients need besides the scene; made where it is first
    asked for."""

    def __init__(self, case, folder, device):
        self.case, self.folder, self.device, self.made = case, folder, device, {}
        self.sizes = {}  # of gradients taken, by name
        beside = os.path.dirname(case.scene)
        for name in os.listdir(beside):
            os.symlink(os.path.join(beside, name), os.path.join(folder, name))
        self.text = with_ids(case.text or open(case.scene).read())

    def path(self, name, make):
        if name not in self.made:
            self.made[name] = os.path.join(self.folder, name)
            make(self.made[name])
        return self.made[name]

    def scene(self, sampler):
        def make(path):
            wanted = '<sampler type="%s"' % sampler
            text, count = re.subn(r'<sampler type="\w+"', wanted, self.text)
            if not count:  # before the film, of which each scene has one
                text = self.text.replace("<film ", wanted + "/><film ")
            with open(path, "w") as f:
                f.write(text)
        return self.path("_%s.xml" % sampler, make)

    def arguments(self, scene):
        return [scene, "--device", self.device] + [w for d in self.case.defines for w in ("-D", d)]

    def image(self, spp):
        path = os.path.join(self.folder, "_image.pfm")
        run(["render", *self.arguments(self.scene("independent")), "--spp", str(spp), "--seed", "123456", "-o", path])
        return read_image(path)

    def adjoint(self):
        """File of W."""
        def make(path):
            write_pfm(path, waves(*self.image(1).shape[:2], self.case.name.endswith("_patch")))
        return self.case.adjoint or self.path("_weights.pfm", make)

    def picture(self):
        def make(path):
            image, weights = self.image(MUCH), read_image(self.adjoint())
            write_pfm(path, image - 0.2 * np.sqrt(np.mean(image ** 2) / np.mean(weights ** 2)) * weights)
        return self.path("_picture.pfm", make)

    def gradients(self, parameters, count, spp, way):
        """name -> count x entries, and user CPU seconds, of one process. Seeds are the same for all parameters and
        ways."""
        towards = ["--adjoint", self.adjoint()] if way.towards == "weights" else ["--target", self.picture()]
        with tempfile.TemporaryDirectory() as out:
            seconds = run(["grad", *self.arguments(self.scene(way.sampler)), *towards, "--form", way.form, "--pixels",
                           way.pixels, "--spp", str(spp), "--variance", str(count), "--each", "-o", out, "--param",
                           *parameters])
            found = {name: np.load(os.path.join(out, name + ".gradients.npy")).astype(float).reshape(count, -1)
                     for name in parameters}
        self.sizes.update((name, g.shape[1]) for name, g in found.items())
        return found, seconds
