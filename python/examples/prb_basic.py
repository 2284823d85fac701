# SPDX-License-Identifier: BSD-3-Clause
"""Path replay backpropagation, written in Python (Vicini, Speierer, Jakob 2021, listings 1 and 2), beside the library's.

    python python/examples/prb_basic.py

The first walk finds the radiance of a path. The second walks the same path, because it draws the same random numbers,
and takes away again what the first has added: at each vertex there remains what is still to come, which is all that the
adjoint needs. So memory does not grow with the length of paths.

Mitsuba 3: its integrator prb_basic is the same algorithm, written in Python, too."""
import time
from pathlib import Path

import numpy as np

import backlight as bl
from backlight import trace as tr


def vertex(t, state, radiance_sign, dL=None):
    """One vertex of the path: its emission joins the radiance or leaves it, and the path goes on."""
    ray, beta, radiance, depth, _ = state
    s = t.closest(ray)
    emission = s.emission()
    radiance = radiance + radiance_sign * beta * emission
    draw = s.sample_bsdf(t.random(2 * depth + 2))
    value = draw.value()
    if dL is not None:
        tr.backward(emission, beta * dL)
        tr.backward(value, radiance * dL * tr.reciprocal(tr.detach(value)))
    beta = beta * value * tr.reciprocal(draw.pdf)
    depth = depth + 1
    active = s.valid & (tr.maximum(beta.r, tr.maximum(beta.g, beta.b)) > 0) & (tr.f32(depth) < t.max_depth)
    return s.leave(draw.d), beta, radiance, depth, active


def walk(t, ray, radiance, radiance_sign, dL=None):
    first = (ray, tr.Vector(1, 1, 1), radiance, tr.u32(0), True)
    return tr.while_loop(lambda state: state[4], lambda state: vertex(t, state, radiance_sign, dL), first)[2]


@bl.integrator(max_depth=6)
class my_prb_basic:
    def radiance(t, ray):
        return walk(t, ray, tr.Vector(0, 0, 0), 1)

    def adjoint(t, ray, dL):
        radiance = walk(t, ray, tr.Vector(0, 0, 0), 1)
        walk(t, ray, radiance, -1, dL)
        return radiance


box = Path(__file__).parents[2] / "assets/cornell/scene.xml"
names = ["red.reflectance.value", "light.emitter.radiance.value"]


def least_cpu_seconds(call):
    times = []
    for seed in range(5):
        start = time.process_time()
        call(seed)
        times.append(time.process_time() - start)
    return min(times)


gradients = {}
for integrator in ("my_prb_basic", "prb_basic"):
    scene = bl.load_file(box, {"integrator": integrator, "max_depth": 6}, resolution=128)
    job, ones = bl.Job(scene, names), np.ones(scene.shape, np.float32)
    gradients[integrator] = job.gradient(ones, spp=16, form="fused")
    image = least_cpu_seconds(lambda seed: job.render(32, seed))
    step = least_cpu_seconds(lambda seed: job.gradient(ones, spp=32, seed=seed, form="fused"))
    print("%-13s image %.3f, gradient %.3f CPU seconds; %s %s" %
          (integrator, image, step, *(gradients[integrator][name] for name in names)))
for name in names:
    np.testing.assert_allclose(gradients["my_prb_basic"][name], gradients["prb_basic"][name], rtol=1e-4)
