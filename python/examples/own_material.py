# SPDX-License-Identifier: BSD-3-Clause
"""A material of one's own in Python, whose parameters are fitted to a picture: Minnaert's law (1941), which describes dark,
dusty surfaces such as the moon's.

    python python/examples/own_material.py

Mitsuba 3: a subclass of mi.BSDF with sample(), eval() and pdf(), registered by mi.register_bsdf."""
import sys

import numpy as np

import backlight as bl


@bl.bsdf(albedo=bl.Textured(0.5), darkness=bl.Ranged(1, 0.5, 3, "of the rim; 1: diffuse"))
def minnaert(m, wi, wo):
    return m.albedo * (wi.z * wo.z) ** (m.darkness - 1) * wo.z / np.pi


scene = bl.load_dict({
    "type": "scene",
    "integrator": {"type": "prb", "max_depth": 2},
    "sensor": {"type": "perspective", "fov": 30, "to_world": bl.Transform.look_at([0, -5, 0], [0, 0, 0], [0, 0, 1]),
               "film": {"type": "hdrfilm", "width": 48, "height": 48}},
    "sun": {"type": "directional", "direction": [.4, 1, -.3], "irradiance": 3.0},
    "moon": {"type": "minnaert", "albedo": {"type": "rgb", "value": [.6, .5, .4]}, "darkness": 1.6},
    "ball": {"type": "sphere", "material": {"type": "ref", "id": "moon"}},
})
truth = bl.render(scene, spp=64)
truth.write("own_material.png")

start = {"moon.darkness": {"initial": [1]}, "moon.albedo.value": {"initial": [.3, .3, .3]}}
fit = bl.Fit(scene, start, truth, spp=16).run(100)
darkness, albedo = fit["moon.darkness"][0], fit["moon.albedo.value"]
print("darkness %.3f (1.6), albedo %s (.6 .5 .4)" % (darkness, albedo.round(3)))
sys.exit(int(abs(darkness - 1.6) > .02 or np.abs(albedo - [.6, .5, .4]).max() > .02))
