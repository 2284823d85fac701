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

backlight.torch and backlight.jax have images as operations of PyTorch and JAX. Images are float32, (height, width, 3),
linear RGB, row 0 at the top. Threads may share everything; calls wait for each other."""
from . import _core
from ._bitmap import Bitmap, compare, write_bitmap
from ._demo import demo, demo_scene
from ._device import Device, default_device, devices
from ._dict import load_dict
from ._errors import (ArgumentError, Cancelled, ClosedError, DeviceError, Error, FileError, FormatError, LimitError,
                      OutOfMemory, ParameterError, SceneError, UnsupportedError)
from ._fit import Fit
from ._job import Gradients, Job, render
from ._library import plugins
from ._scene import ParameterInfo, Scene, SceneParameters, load_file, load_string, traverse
from ._transform import Transform

__version__: str = _core.version()

__all__ = [
    "ArgumentError", "Bitmap", "Cancelled", "ClosedError", "Device", "DeviceError", "Error", "FileError", "Fit",
    "FormatError", "Gradients", "Job", "LimitError", "OutOfMemory", "ParameterError", "ParameterInfo", "Scene",
    "SceneError", "SceneParameters", "Transform", "UnsupportedError", "compare", "default_device", "demo",
    "demo_scene", "devices", "load_dict", "load_file", "load_string", "plugins", "render", "traverse", "write_bitmap",
]
