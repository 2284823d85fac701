# SPDX-License-Identifier: BSD-3-Clause
# %% [markdown]
# # Smoke, from pictures of it
#
# Six cameras stand around a column of smoke. From their pictures we find how dense it is everywhere: a grid of
# numbers, each of which changes every pixel whose light passes there, whether straight or scattered.

# %%
import sys

import numpy as np

import backlight as bl

t, side = bl.Transform, 20


def column():
    """A plume that winds, widens and thins out as it rises; (z, y, x), y is up."""
    z, y, x = np.meshgrid(*3 * [(np.arange(side) + .5) / side], indexing="ij")
    angle, away, radius = 6 * y, .05 + .16 * y, .1 + .17 * y
    distance = np.hypot(x - .5 - away * np.cos(angle), z - .5 - away * np.sin(angle)) / radius
    waves = 1 + .6 * np.sin(23 * x + 9 * y) * np.sin(19 * z - 17 * y)
    return np.clip(1 - distance**2, 0, None) * waves * np.clip(8 * (1 - y), 0, 1) * np.clip(12 * y, 0, 1) * 6


def camera(turn):
    turn = np.radians(turn)
    return np.array(t.look_at([4.6 * np.sin(turn), .6, 4.6 * np.cos(turn)], [0, 0, 0], [0, 1, 0]), np.float32)


def make(pixels):
    return bl.load_dict({
        "type": "scene",
        "integrator": {"type": "volpath", "max_depth": 4},
        "sensor": {"type": "perspective", "fov": 32, "to_world": camera(0),
                   "film": {"type": "hdrfilm", "width": pixels, "height": pixels}},
        "smoke": {"type": "cube", "bsdf": {"type": "null"}, "interior": {
            "type": "heterogeneous", "albedo": {"type": "rgb", "value": [.6, .5, .4]}, "scale": 1.,
            "sigma_t": {"type": "gridvolume", "data": np.full((side, side, side), .2, np.float32),
                        "to_world": t.translate([-1, -1, -1]).scale(2)}}},
        "sun": {"type": "directional", "direction": [-1, -.7, -.2], "irradiance": {"type": "rgb", "value": [4, 3, 2]}},
        "sky": {"type": "constant", "radiance": {"type": "rgb", "value": [.6, .75, 1]}},
    })


scene, key = make(40), "smoke.interior_medium.sigma_t.data"
truth = column()[..., None].astype(np.float32)
turns = [0, 60, 120, 180, 240, 300]
photographer = bl.Job(scene, [key], sensor_moves=True)
photographer[key] = truth


def photograph(turn, seed):
    photographer.set_sensor(0, camera(turn))
    return photographer.render(spp=96, seed=seed)


views = [{"target": photograph(turn, 1000 + turn), "to_world": camera(turn)} for turn in turns]

# %% [markdown]
# Every step sees all pictures. A penalty on differences between neighbours (total variation) decides where the
# pictures say little.

# %%
fit = bl.Fit(scene, {key: {"rate": .3, "total_variation": .005}}, views=views, spp=4, schedule=[(25, .4), (50, .12)])
for step in range(3):
    fit.run(20)
    print("step %3d  loss %.6f" % (fit.status["step"], fit.losses[-1]))
found = fit[key]

# %% [markdown]
# From a side that no camera had: the start, what was found, the truth. Then the same for a slice through the grid.

# %%
large = make(112)
job = bl.Job(large, [key], sensor_moves=True)
job.set_sensor(0, camera(30))
stages = [np.full_like(truth, .2), found, truth]
images, slices = [], []
for grid in stages:
    job[key] = grid
    images.append(job.render(spp=128))
    cut = grid[side // 2, ::-1].repeat(5, axis=0).repeat(5, axis=1).repeat(3, axis=-1) / truth.max()
    slices.append(np.pad(cut, ((6, 6), (6, 6), (0, 0))))
picture = bl.Bitmap(np.concatenate([np.concatenate(images, axis=1), np.concatenate(slices, axis=1)]))
picture.write("smoke.png")
error = np.abs(found - truth).mean() / np.abs(truth).mean()
quality = bl.compare(images[1], images[2])
print("the densities are off by %.0f %% on average, the new view has %.1f dB" % (100 * error, quality["psnr"]))
picture

# %% [markdown]
# **In Mitsuba 3** the integrator is `prbvolpath`, and the loop over cameras and steps is one's own:
# `params["smoke.interior_medium.sigma_t.data"]` goes into `mi.ad.Adam`, and each step renders every sensor,
# adds losses, and calls `dr.backward`. The total variation is written out with `dr`. `mi.VolumeGrid(array)` makes the
# grid; it may be given as `"grid"` here, too.

# %%
if quality["psnr"] < 25:
    sys.exit("the smoke was not found")
