# SPDX-License-Identifier: BSD-3-Clause
"""A small network in PyTorch is the texture of a wall, and learns it from one picture.

    python python/examples/neural_texture.py

The network maps sines of texture coordinates to colours; its output is the bitmap that the renderer sees. Whatever
is before the parameters and behind the image is PyTorch's: a prior, another loss, another optimiser.

Mitsuba 3: the same with @dr.wrap(source="torch", target="drjit") around a function that renders."""
import sys

import numpy as np
import torch

import backlight as bl
import backlight.torch

SIDE, KEY = 24, "paint.reflectance.data"
torch.manual_seed(1)


def truth():
    """Rings, as (SIDE, SIDE, 3)."""
    y, x = np.mgrid[0:SIDE, 0:SIDE] / (SIDE - 1) - .5
    ring = .5 + .4 * np.sin(25 * np.hypot(x, y))
    return np.stack([ring, .5 + x, 1 - ring], axis=-1).astype(np.float32)


bl.write_bitmap("start.exr", np.full((SIDE, SIDE, 3), .5, np.float32))
scene = bl.load_dict({
    "type": "scene", "integrator": {"type": "path", "max_depth": 3},
    "sensor": {"type": "perspective", "fov": 40, "to_world": bl.Transform.look_at([0, 0, 3], [0, 0, 0], [0, 1, 0]),
               "film": {"type": "hdrfilm", "width": 48, "height": 48}},
    "sky": {"type": "constant", "radiance": 1.},
    "wall": {"type": "rectangle", "bsdf": {"type": "diffuse", "id": "paint", "reflectance": {
        "type": "bitmap", "filename": "start.exr", "raw": True}}},
})
target = torch.from_numpy(bl.render(scene, spp=64, seed=1000, params={KEY: truth()}))

network = torch.nn.Sequential(torch.nn.Linear(20, 48), torch.nn.ReLU(), torch.nn.Linear(48, 48), torch.nn.ReLU(),
                              torch.nn.Linear(48, 3), torch.nn.Sigmoid())
grid = torch.stack(torch.meshgrid(*2 * [torch.linspace(-.5, .5, SIDE)], indexing="ij"), dim=-1).reshape(-1, 2)
waves = torch.cat([f(6.2832 * k / 2 * grid) for k in range(1, 6) for f in (torch.sin, torch.cos)], dim=1)
adam = torch.optim.Adam(network.parameters(), lr=.01)
losses = []
for step in range(150):
    adam.zero_grad()
    texture = network(waves).reshape(SIDE, SIDE, 3)
    image = backlight.torch.render(scene, {KEY: texture}, spp=4, seed=2 * step, seed_grad=2 * step + 1)
    loss = (image - target).square().mean()
    loss.backward()
    adam.step()
    losses.append(float(loss))
    if step % 50 == 49:
        print("step %3d  loss %.5f" % (step + 1, losses[-1]))

found = texture.detach().numpy()
error = float(np.abs(found - truth()).mean())
bl.write_bitmap("neural_texture.png", np.concatenate([truth(), found], axis=1))
print("mean error of the texture %.3f; neural_texture.png has it beside the true one" % error)
sys.exit(int(error > .06))
