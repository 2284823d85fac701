# SPDX-License-Identifier: BSD-3-Clause
# %% [markdown]
# # A loss on many scales
#
# Three balls must go where a picture shows them. Where a ball and its picture do not overlap, the squared error of
# pixels does not know in which direction to go. People compare blurred shapes first, and details then; so does the
# squared error of means over windows of 1, 2, 4, .. 32 pixels. It is three lines of PyTorch.

# %%
import sys

import numpy as np
import torch
from torch.nn.functional import avg_pool2d

import backlight as bl
import backlight.torch

t = bl.Transform
colours = {"red": [.8, .08, .05], "green": [.1, .6, .12], "blue": [.1, .25, .85]}
start = {"red": [-1.1, .9, 0], "green": [.1, -1, 0], "blue": [1.1, .8, 0]}
truth = {"red": [-.1, .6, 0], "green": [-1., -.6, 0], "blue": [.9, -.3, 0]}


def make(pixels):
    return bl.load_dict({
        "type": "scene", "integrator": {"type": "direct"},
        "sensor": {"type": "perspective", "fov": 40, "to_world": t.look_at([0, 0, 5], [0, 0, 0], [0, 1, 0]),
                   "film": {"type": "hdrfilm", "width": pixels, "height": pixels}},
        "sky": {"type": "constant", "radiance": .08, "sampling_weight": 0.},
        "lamp": {"type": "point", "position": [2, 3, 6], "intensity": 60.},
        **{name: {"type": "sphere", "center": start[name], "radius": .4, "bsdf": {
            "type": "diffuse", "reflectance": {"type": "rgb", "value": colour}}} for name, colour in colours.items()},
    })


scene = make(48)
keys = {name: name + ".translation" for name in colours}
target = torch.from_numpy(bl.render(scene, spp=64, seed=1000, params={keys[name]: np.subtract(truth[name], start[name]) for name in colours}))


def pixels_alone(image):
    return (image - target).square().mean()


def pyramid(image, levels=6):
    """The squared error of means over windows that overlap. Large windows count more: means are small there."""
    difference = (image - target).permute(2, 0, 1)
    return sum(4**k * avg_pool2d(difference, 2**k, max(2**k // 4, 1), 2**k // 2).square().mean() for k in range(levels))


# %% [markdown]
# The same optimiser with either loss. `render` brings dL/dI of any loss back to the balls; how an image changes where
# their edges move is part of it.

# %%
def fit(loss_of, steps=80):
    places = {key: torch.zeros(3, requires_grad=True) for key in keys.values()}
    adam = torch.optim.Adam(places.values(), lr=.05)
    slower = torch.optim.lr_scheduler.MultiStepLR(adam, [50, 65], gamma=.3)
    for step in range(steps):
        adam.zero_grad()
        image = backlight.torch.render(scene, places, spp=4, seed=2 * step, seed_grad=2 * step + 1)
        loss_of(image).backward()
        for place in places.values():
            place.grad[2] = 0  # they stay in their plane
        adam.step()
        slower.step()
    return {key: place.detach().numpy() for key, place in places.items()}


def error(found):
    return max(np.abs(start[name] + found[key] - truth[name]).max() for name, key in keys.items())


plain, scales = fit(pixels_alone), fit(pyramid)
print("farthest from its place: %.3f by pixels, %.3f by the pyramid" % (error(plain), error(scales)))

# %% [markdown]
# The start; where the squared error of pixels leads; where the pyramid leads; and the target.

# %%
large = make(120)
right = {keys[name]: np.subtract(truth[name], start[name]) for name in colours}
stages = [bl.render(large, spp=64, params=places) for places in ({}, plain, scales, right)]
picture = bl.Bitmap(np.concatenate(stages, axis=1))
picture.write("perceptual_loss.png")
picture

# %% [markdown]
# **In Mitsuba 3** the integrator is `prb_projective`, since edges move, and the pyramid is written with `dr` or behind
# `@dr.wrap(source="torch", target="drjit")`. Learned perceptual losses (LPIPS) are PyTorch's and come in the same way,
# here as `loss_of`.

# %%
if error(scales) > .05 or error(plain) < .3:
    sys.exit("the pyramid did not bring the balls to their places, or pixels alone did")
