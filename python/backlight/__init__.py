# SPDX-License-Identifier: BSD-3-Clause
"""Backlight: a differentiable, physically based renderer.

    import backlight as bl
    scene = bl.load_file("scene.xml", resolution=128)
    image = bl.render(scene, spp=64)                      # a NumPy array that notebooks show
    params = bl.traverse(scene)
    params["red.reflectance.value"] = [.8, .1, .1]
    params.update()
    job = bl.Job(scene, ["red.reflectance.value"])
    gradient = job.gradient(target=image, spp=16)         # name to array

Integrators, materials, textures and lights can be written in Python: integrator, bsdf, texture, emitter, and
backlight.trace, what they are written with. backlight.torch and backlight.jax have images as operations of PyTorch and
JAX. Images are float32, (height, width, 3), linear RGB, row 0 at the top. Threads may share everything; calls wait for
each other."""
from . import _core, trace
from ._bitmap import Bitmap, compare, write_bitmap
from ._demo import demo, demo_scene
from ._device import Device, default_device, devices
from ._dict import load_dict
from ._errors import (ArgumentError, Cancelled, ClosedError, DeviceError, Error, FileError, FormatError, LimitError,
                      OutOfMemory, ParameterError, SceneError, UnsupportedError)
from ._fit import Fit
from ._job import Gradients, Job, Print, render
from ._library import plugins
from ._plugins import (THROUGH, BsdfChoice, BsdfDraw, LightDraw, Ranged, Ray, Surface, Textured, Tracer, bsdf, emitter,
                       integrator, texture)
from ._scene import ParameterInfo, Scene, SceneParameters, load_file, load_string, traverse
from ._transform import Transform

__version__: str = _core.version()

__all__ = [
    "ArgumentError", "Bitmap", "BsdfChoice", "BsdfDraw", "Cancelled", "ClosedError", "Device", "DeviceError", "Error", "FileError",
    "Fit", "FormatError", "Gradients", "Job", "LightDraw", "LimitError", "OutOfMemory", "ParameterError", "ParameterInfo", "Print",
    "Ranged", "Ray", "Scene", "SceneError", "SceneParameters", "Surface", "THROUGH", "Textured", "Tracer", "Transform",
    "UnsupportedError", "bsdf",
    "compare", "default_device", "demo", "demo_scene", "devices", "emitter", "integrator", "load_dict", "load_file", "load_string",
    "plugins", "render", "texture", "trace", "traverse", "write_bitmap",
]
