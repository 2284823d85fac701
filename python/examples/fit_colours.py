# SPDX-License-Identifier: BSD-3-Clause
# %% [markdown]
# # Colours of walls, from a picture
#
# The gradient of an image's squared error comes with the loss in one pass. The optimiser is ten lines of NumPy:
# Adam (Kingma and Ba 2015, algorithm 1). `bl.Fit` has the same one on the device; here it is yours to change.

# %%
import sys
from pathlib import Path

import numpy as np

import backlight as bl

here = Path(globals().get("__file__", "fit_colours.ipynb")).resolve().parent
box = here.parents[1] / "assets/cornell/scene.xml"
scene = bl.load_file(box, resolution=32, max_depth=5)
walls = ["red.reflectance.value", "green.reflectance.value"]
truth = {name: bl.traverse(scene)[name] for name in walls}
target = bl.render(scene, spp=256, seed=1000)

# %%
job = bl.Job(scene, walls)
colours = {name: np.full(3, .5, np.float32) for name in walls}
moments = {name: (np.zeros(3), np.zeros(3)) for name in walls}
rate, beta_1, beta_2, epsilon = .03, .9, .999, 1e-8
history = [dict(colours)]

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
    history.append(dict(colours))
    if step % 20 == 0:
        print("step %3d  loss %.5f" % (step, gradient.loss))

# %% [markdown]
# The box at the start, after 10 steps, at the end; and the true one. The fit has seen 32 x 32 pixels of it.

# %%
large = bl.load_file(box, resolution=128, max_depth=5)
stages = [bl.render(large, spp=192, params=values) for values in (history[0], history[10], history[-1], truth)]
picture = bl.Bitmap(np.concatenate(stages, axis=1))
picture.write("fit_colours.png")
worst = max(np.abs(colours[name] - truth[name]).max() for name in walls)
for name in walls:
    print("%-25s found %s, was %s" % (name, colours[name].round(3), truth[name].round(3)))
print("largest error %.4f" % worst)
picture

# %% [markdown]
# **In Mitsuba 3**: `opt = mi.ad.Adam(lr=.03)`, `opt[name] = params[name]`; then in each step `params.update(opt)`,
# `image = mi.render(scene, params, spp=16, seed=step)`, `loss = dr.mean(dr.square(image - target))`,
# `dr.backward(loss)`, `opt.step()`. There the image and its gradient are two passes.

# %%
if worst > .06:
    sys.exit("the colours were not found")
