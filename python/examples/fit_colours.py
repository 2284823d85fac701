# SPDX-License-Identifier: BSD-3-Clause
"""Finds the colours of two walls from a picture, with an optimiser in NumPy: Adam, written out.

    python python/examples/fit_colours.py [SCENE.xml]

The gradient of the squared error comes with the loss in one pass (two walks a sample). bl.Fit has the same
optimiser on the device; here it is yours.

Mitsuba 3: opt = mi.ad.Adam(lr=.03); opt[key] = params[key]; then in each step params.update(opt), image =
mi.render(scene, params, spp=16, seed=step), loss = dr.mean((image - target)**2), dr.backward(loss), opt.step()."""
import sys
from pathlib import Path

import numpy as np

import backlight as bl

default = Path(__file__).resolve().parents[2] / "assets/cornell/scene.xml"
scene = bl.load_file(sys.argv[1] if len(sys.argv) > 1 else default, resolution=32, max_depth=5)
walls = ["red.reflectance.value", "green.reflectance.value"]
truth = {name: bl.traverse(scene)[name] for name in walls}
target = bl.render(scene, spp=256, seed=1000)

job = bl.Job(scene, walls)
colours = {name: np.full(3, .5, np.float32) for name in walls}
moments = {name: (np.zeros(3), np.zeros(3)) for name in walls}
rate, beta_1, beta_2, epsilon = .03, .9, .999, 1e-8

for step in range(1, 101):
    for name in walls:
        job[name] = colours[name]
    gradient = job.gradient(target=target, spp=16, seed=step)
    for name in walls:
        g = gradient[name].astype(float)
        m, v = moments[name]
        m, v = beta_1 * m + (1 - beta_1) * g, beta_2 * v + (1 - beta_2) * g * g
        moments[name] = m, v
        move = rate * (m / (1 - beta_1**step)) / (np.sqrt(v / (1 - beta_2**step)) + epsilon)
        colours[name] = np.clip(colours[name] - move, 0, 1).astype(np.float32)
    if step % 20 == 0:
        print("step %3d  loss %.5f" % (step, gradient.loss))

worst = max(np.abs(colours[name] - truth[name]).max() for name in walls)
for name in walls:
    print("%-25s found %s, was %s" % (name, colours[name].round(3), truth[name].round(3)))
print("largest error %.4f" % worst)
sys.exit(int(worst > .06))
