# SPDX-License-Identifier: BSD-3-Clause
"""An integrator of one's own in Python: ambient occlusion (Zhukov, Iones, Kronin 1998).

    python python/examples/ao.py

Mitsuba 3: a subclass of mi.SamplingIntegrator whose sample() calls scene.ray_intersect and scene.ray_test."""
from pathlib import Path

import backlight as bl
from backlight import trace as tr


@bl.integrator(radius=1.5)
def ao(t, ray):
    s = t.closest(ray)
    u = t.random(1)
    up = s.leave(s.to_world(tr.cosine_hemisphere(u[1], u[2])), t.radius)
    return tr.select(s.valid & ~t.any(up), 1.0, 0.0)


box = Path(__file__).parents[2] / "assets/cornell/scene.xml"
image = bl.render(bl.load_file(box, {"integrator": "ao"}, resolution=128), spp=64)
image.write("ao.png")
print("open: %.2f of the hemispheres" % image.mean())
