# SPDX-License-Identifier: BSD-3-Clause
# %% [markdown]
# # Where does it stand, and how is it turned?
#
# A creature is moved and turned until it looks as in a picture. What tells where it is are its edges and those of its
# shadow: they move with it, and so the image has derivatives that no derivative of a pixel's colour has. They are
# part of every gradient here.

# %%
import sys

import numpy as np

import backlight as bl

t = bl.Transform


def creature(around=48, across=32):
    """A ball with arms of different lengths, as vertices and faces: nothing turned looks like nothing else."""
    u, v = np.meshgrid(np.arange(around) / around * 2 * np.pi, (np.arange(across) + .5) / across * np.pi, indexing="ij")
    away = np.stack([np.sin(v) * np.cos(u), np.cos(v), np.sin(v) * np.sin(u)], axis=-1)
    radius = np.full(u.shape, .5)
    for arm, length in (([1, .2, 0], .8), ([-.3, 1, .2], .6), ([-.6, -.3, .8], .5), ([-.2, -.8, -.6], .35)):
        radius += length * np.exp(9 * (away @ arm / np.linalg.norm(arm) - 1))
    a, b = np.meshgrid(np.arange(around), np.arange(across - 1), indexing="ij")
    corners = np.stack([a * across + b, a * across + b + 1, (a + 1) % around * across + b + 1, (a + 1) % around * across + b], axis=-1)
    faces = np.concatenate([corners[..., [0, 2, 1]].reshape(-1, 3), corners[..., [0, 3, 2]].reshape(-1, 3)])
    return (away * radius[..., None]).reshape(-1, 3).astype(np.float32), faces.astype(np.uint32)


positions, faces = creature()


def make(side):
    return bl.load_dict({
        "type": "scene",
        "integrator": {"type": "direct"},
        "sensor": {"type": "perspective", "fov": 38, "to_world": t.look_at([0, 3, 6], [0, .9, 0], [0, 1, 0]),
                   "film": {"type": "hdrfilm", "width": side, "height": side}},
        "sky": {"type": "constant", "radiance": .3, "sampling_weight": 0.},
        "lamp": {"type": "point", "position": [-3, 6, 3], "intensity": {"type": "rgb", "value": [60, 55, 48]}},
        "floor": {"type": "rectangle", "to_world": t.rotate([1, 0, 0], -90).scale(6),
                  "bsdf": {"type": "diffuse", "reflectance": {"type": "rgb", "value": [.6, .6, .55]}}},
        "creature": {"type": "mesh", "positions": positions, "faces": faces, "to_world": t.translate([-.4, 1.3, -.1]).scale(.9),
                 "bsdf": {"type": "plastic", "diffuse_reflectance": {"type": "rgb", "value": [.7, .25, .05]}}},
    })


scene, key = make(48), "creature.to_world"
start = bl.traverse(scene)[key]
truth = np.array(t.translate([.1, 1.1, .1]).rotate([1, 2, 0], 30).scale(.9), np.float32)
target = bl.render(scene, spp=128, seed=1000, params={key: truth})

# %% [markdown]
# `motion="rigid"` is the default for a pose: the optimiser moves and turns the creature, and its size stays. The rate
# falls near the end, so that noise does not keep the creature from its place.

# %%
fit = bl.Fit(scene, {key: {"rate": .03}}, target, spp=8, schedule=[(40, .3), (55, .1)], beta_2=.99)
for step in range(3):
    fit.run(23)
    print("step %3d  loss %.5f" % (fit.status["step"], fit.losses[-1]))
found = fit[key]

# %%
large = make(160)
picture = bl.Bitmap(np.concatenate([bl.render(large, spp=128, params={key: pose}) for pose in (start, found, truth)], axis=1))
picture.write("pose.png")
turned = np.degrees(np.arccos(np.clip((np.trace(found[:3, :3] @ truth[:3, :3].T) / .81 - 1) / 2, -1, 1)))
away = np.linalg.norm(found[:3, 3] - truth[:3, 3])
print("the creature is %.3f and %.1f degrees away from where it was" % (away, turned))
picture

# %% [markdown]
# **In Mitsuba 3** an integrator that samples silhouettes is needed, `prb_projective`; with `prb` the gradient lacks
# the edges, and the creature does not come. A pose is a transform that one makes of parameters of one's own:
# `opt["angle"]`, `opt["move"]`, `params["creature.vertex_positions"] = dr.ravel(mi.Transform4f().translate(..) @ vertices)`.

# %%
if away > .05 or turned > 4:
    sys.exit("the pose was not found")
