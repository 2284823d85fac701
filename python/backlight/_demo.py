# SPDX-License-Identifier: BSD-3-Clause
"""A first picture."""
from __future__ import annotations

import os
import sys

from ._bitmap import Bitmap
from ._device import Device, default_device
from ._dict import load_dict
from ._job import render
from ._progress import Progress
from ._scene import Scene
from ._transform import Transform


def demo_scene(resolution: int = 192) -> Scene:
    """A ball of glass and a red one on a chequered floor, under a light."""
    return load_dict({
        "type": "scene",
        "integrator": {"type": "path", "max_depth": 8},
        "sensor": {
            "type": "perspective", "fov": 32,
            "to_world": Transform.look_at(origin=[0, 2.4, 7], target=[0, .8, 0], up=[0, 1, 0]),
            "film": {"type": "hdrfilm", "width": resolution, "height": resolution},
            "sampler": {"type": "independent", "sample_count": 64},
        },
        "sky": {"type": "constant", "radiance": {"type": "rgb", "value": [.25, .3, .4]}},
        "floor": {
            "type": "rectangle", "to_world": Transform.rotate([1, 0, 0], -90).scale(8),
            "bsdf": {"type": "diffuse", "reflectance": {
                "type": "checkerboard", "to_uv": Transform.scale([12, 12, 1]),
                "color0": {"type": "rgb", "value": [.2, .2, .22]}, "color1": {"type": "rgb", "value": [.7, .68, .62]}}},
        },
        "glass": {"type": "sphere", "center": [-.85, .8, .5], "radius": .8, "bsdf": {"type": "dielectric"}},
        "red": {"type": "sphere", "center": [1, 1, -.6], "radius": 1.,
                "bsdf": {"type": "plastic", "diffuse_reflectance": {"type": "rgb", "value": [.7, .08, .06]}}},
        "light": {
            "type": "rectangle", "to_world": Transform.translate([0, 6, 1]).rotate([1, 0, 0], 90).scale(1.2),
            "emitter": {"type": "area", "radiance": {"type": "rgb", "value": [22, 20, 17]}},
        },
    })


def demo(path: str | os.PathLike[str] | None = None, *, spp: int = 64, resolution: int = 192,
         device: Device | None = None, progress: Progress = None) -> Bitmap:
    """Draws a picture, and returns it; scripts and prompts, which cannot show it, get it as backlight-demo.png.

    path: where to save it instead. spp: samples per pixel. resolution: pixels a side."""
    device = device or default_device()
    image = render(demo_scene(resolution), spp, device=device, progress=progress)
    if path is None and "ipykernel" not in sys.modules:
        path = "backlight-demo.png"
    if path is not None:
        image.write(path)
        print("%s: %d x %d pixels, %d samples each, on %s" % (os.fspath(path), resolution, resolution, spp, device.name))
    return image
