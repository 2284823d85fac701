# SPDX-License-Identifier: BSD-3-Clause
# %% [markdown]
# # A neural texture
#
# A small network in PyTorch is the texture of a vase, and learns it from one picture. It maps sines of texture
# coordinates (positional encoding) to colours; its output is the bitmap that the renderer sees. Whatever is before the
# parameters and behind the image is PyTorch's.

# %%
import sys

import numpy as np
import torch

import backlight as bl
import backlight.torch

t, high, wide = bl.Transform, 32, 64
torch.manual_seed(1)


def vase(around=48, up=40):
    """A surface of revolution, as vertices, faces and texture coordinates."""
    u, v = np.meshgrid(np.arange(around + 1) / around, np.linspace(0, 1, up), indexing="ij")
    radius = .45 + .28 * np.sin(5.2 * v + .3) * (1 - .35 * v)
    positions = np.stack([radius * np.sin(2 * np.pi * u), 2 * v, radius * np.cos(2 * np.pi * u)], axis=-1)
    a, b = np.meshgrid(np.arange(around), np.arange(up - 1), indexing="ij")
    corners = np.stack([a * up + b, (a + 1) * up + b, (a + 1) * up + b + 1, a * up + b + 1], axis=-1)
    faces = np.concatenate([corners[..., [0, 1, 2]].reshape(-1, 3), corners[..., [0, 2, 3]].reshape(-1, 3)])
    return {"positions": positions.reshape(-1, 3).astype(np.float32), "faces": faces.astype(np.uint32),
            "uvs": np.stack([u, 1 - v], axis=-1).reshape(-1, 2).astype(np.float32)}


def glaze():
    """Bands and a meander, as (high, wide, 3)."""
    v, u = (np.mgrid[0:high, 0:wide] + .5) / [[[high]], [[wide]]]
    waves = np.abs(v - .5 - .12 * np.sin(2 * np.pi * 6 * u)) < .07
    bands = (np.abs(v - .2) < .04) | (np.abs(v - .82) < .05)
    texels = np.full((high, wide, 3), [.75, .62, .42])
    texels[bands], texels[waves] = [.1, .2, .45], [.65, .12, .06]
    return texels.astype(np.float32)


def make(pixels):
    return bl.load_dict({
        "type": "scene", "integrator": {"type": "path", "max_depth": 3},
        "sensor": {"type": "perspective", "fov": 34, "to_world": t.look_at([0, 1.8, 4], [0, .95, 0], [0, 1, 0]),
                   "film": {"type": "hdrfilm", "width": pixels, "height": pixels}},
        "sky": {"type": "constant", "radiance": .5},
        "sun": {"type": "directional", "direction": [-1, -1, -1], "irradiance": 2.},
        "floor": {"type": "rectangle", "to_world": t.rotate([1, 0, 0], -90).scale(6), "bsdf": {
            "type": "diffuse", "reflectance": {"type": "rgb", "value": [.35, .35, .38]}}},
        "vase": {"type": "mesh", **vase(), "bsdf": {"type": "twosided", "bsdf": {
            "type": "plastic", "id": "glaze", "diffuse_reflectance": {"type": "bitmap", "data": np.full((high, wide, 3), .5, np.float32)}}}},
    })


scene, key, truth = make(64), "glaze.diffuse_reflectance.data", glaze()
target = torch.from_numpy(bl.render(scene, spp=128, seed=1000, params={key: truth}))

# %% [markdown]
# The image is drawn again for its gradient, with other random numbers (`seed_grad`), so that the squared error has no
# bias from noise that both share.

# %%
network = torch.nn.Sequential(torch.nn.Linear(32, 48), torch.nn.ReLU(), torch.nn.Linear(48, 48), torch.nn.ReLU(),
                              torch.nn.Linear(48, 3), torch.nn.Sigmoid())
rows, columns = (torch.arange(high) + .5) / high, (torch.arange(wide) + .5) / wide
grid = torch.stack(torch.meshgrid(rows, columns, indexing="ij"), dim=-1).reshape(-1, 2)
scales = torch.tensor([1., 2., 3., 4., 5., 6., 8., 12.])
waves = torch.cat([f(2 * torch.pi * scale * grid) for scale in scales for f in (torch.sin, torch.cos)], dim=1)
adam = torch.optim.Adam(network.parameters(), lr=.01)
for step in range(150):
    adam.zero_grad()
    texture = network(waves).reshape(high, wide, 3)
    image = backlight.torch.render(scene, {key: texture}, spp=4, seed=2 * step, seed_grad=2 * step + 1)
    loss = (image - target).square().mean()
    loss.backward()
    adam.step()
    if step % 50 == 49:
        print("step %3d  loss %.5f" % (step + 1, float(loss)))

# %% [markdown]
# The vase as learned, and as it was.

# %%
found, large = texture.detach().numpy(), make(160)
images = [bl.render(large, spp=96, params={key: texels}) for texels in (found, truth)]
picture = bl.Bitmap(np.concatenate(images, axis=1))
picture.write("neural_texture.png")
quality = bl.compare(*images)["psnr"]
print("the images are %.1f dB alike" % quality)
picture

# %% [markdown]
# **In Mitsuba 3** the same is a function with `@dr.wrap(source="torch", target="drjit")` that takes the texture,
# puts it into `params`, and returns `mi.render(scene, params, spp=4, seed=step, seed_grad=step + 1)`.

# %%
if quality < 24:
    sys.exit("the network has not learned the texture")
