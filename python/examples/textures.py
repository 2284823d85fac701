# SPDX-License-Identifier: BSD-3-Clause
# %% [markdown]
# # A texture, with PyTorch's Adam
#
# Three cameras look at a globe under a lamp. PyTorch's Adam finds the texels of its map from the three pictures. The
# images are operations of PyTorch, so the texels may be made of anything (here a sigmoid keeps them in [0, 1]), and the
# loss may have any terms (here a prior: neighbours are alike, most of the time).

# %%
import sys

import numpy as np
import torch

import backlight as bl
import backlight.torch

t, high, wide, pixels = bl.Transform, 32, 64, 48


def world():
    """Seas, lands and ice: a few waves on a sphere, as (high, wide, 3)."""
    v, u = np.mgrid[0:high, 0:wide]
    down, around = (v + .5) / high * np.pi, (u + .5) / wide * 2 * np.pi
    x, y, z = np.sin(down) * np.cos(around), np.cos(down), np.sin(down) * np.sin(around)
    height = np.sin(3 * x + 1) * np.sin(4 * y + 2 * z) + .6 * np.sin(7 * z - 3 * x) * np.cos(6 * y) + .3 * np.sin(13 * x + 9 * z)
    land = height[..., None] > .15
    texels = np.where(land, [.25, .45, .12], [.04, .12, .4]) + np.where(land, .25, .06) * height[..., None]
    return np.where(np.abs(y)[..., None] > .9, .85, texels).clip(.02, .95).astype(np.float32)


def make(pixels, turn):
    place = [4 * np.sin(turn), 1.2 * np.cos(2 * turn), 4 * np.cos(turn)]
    return bl.load_dict({
        "type": "scene", "integrator": {"type": "direct"},
        "sensor": {"type": "perspective", "fov": 32, "to_world": t.look_at(place, [0, 0, 0], [0, 1, 0]),
                   "film": {"type": "hdrfilm", "width": pixels, "height": pixels}},
        "sky": {"type": "constant", "radiance": .35},
        "sun": {"type": "directional", "direction": [-1, -.6, -.5], "irradiance": {"type": "rgb", "value": [2.2, 2, 1.7]}},
        "globe": {"type": "sphere", "to_world": t.rotate([1, 0, 0], -90), "bsdf": {"type": "diffuse", "id": "map", "reflectance": {
            "type": "bitmap", "data": np.full((high, wide, 3), .5, np.float32)}}},
    })


key, turns = "map.reflectance.data", [0., 2.1, 4.2]
truth = world()
scenes = [make(pixels, turn) for turn in turns]
targets = [torch.from_numpy(bl.render(scene, spp=64, seed=1000, params={key: truth})) for scene in scenes]

# %%
logits = torch.zeros(high, wide, 3, requires_grad=True)
adam = torch.optim.Adam([logits], lr=.1)
for step in range(60):
    adam.zero_grad()
    texels = torch.sigmoid(logits)
    loss = sum(backlight.torch.mse(scene, {key: texels}, target, spp=4, seed=step) for scene, target in zip(scenes, targets))
    prior = (texels[1:] - texels[:-1]).abs().mean() + (texels - texels.roll(1, dims=1)).abs().mean()
    (loss + .01 * prior).backward()
    adam.step()
    if step % 20 == 19:
        print("step %3d  loss %.5f" % (step + 1, float(loss)))

# %% [markdown]
# Above: the globe as found and as it was, from two of the cameras. Below: the map as found, and the true one. What no
# camera has seen is what the prior makes of it.

# %%
found = torch.sigmoid(logits).detach().numpy()
seen = [bl.render(make(128, turn), spp=64, params={key: texels}) for turn in turns[:2] for texels in (found, truth)]
maps = [texels.repeat(4, axis=0).repeat(4, axis=1) for texels in (found, truth)]
picture = bl.Bitmap(np.concatenate([np.concatenate(seen, axis=1), np.concatenate(maps, axis=1)]))
picture.write("textures.png")
error = float(np.abs(found - truth)[high // 6:-high // 6].mean())
print("mean error of the texels between the poles: %.3f" % error)
picture

# %% [markdown]
# **In Mitsuba 3** `@dr.wrap(source="torch", target="drjit")` around a function that renders makes an image of tensors;
# or the whole loop is Dr.Jit's, with `mi.ad.Adam` and `dr` for the prior. Texels are `params["map.reflectance.data"]`
# in both.

# %%
if error > .06:
    sys.exit("the texture was not found")
