# SPDX-License-Identifier: BSD-3-Clause
# %% [markdown]
# # A radiance field, from photographs
#
# No surfaces and no lights: a grid says how dense space is, another one what colour it has seen from each side
# (spherical harmonics). Both are found from photographs with known cameras, here renderings of a small scene.

# %%
import sys

import numpy as np

import backlight as bl

t, pixels, side = bl.Transform, 48, 20


def camera(k, count):
    """The k-th of cameras that spiral around the scene, from low to high."""
    turn, height = 2.4 * k, .25 + 1.2 * k / count
    place = np.array([np.sin(turn), height, np.cos(turn)])
    return np.array(t.look_at(4 * place / np.linalg.norm(place), [0, -.1, 0], [0, 1, 0]), np.float32)


def film(size):
    return {"type": "perspective", "fov": 36, "to_world": camera(0, 1),
            "film": {"type": "hdrfilm", "width": size, "height": size, "rfilter": {"type": "box"}}}


white = {"type": "constant", "radiance": {"type": "rgb", "value": [1, 1, 1]}}


def colour(r, g, b):
    return {"type": "diffuse", "reflectance": {"type": "rgb", "value": [r, g, b]}}


real = bl.load_dict({
    "type": "scene", "integrator": {"type": "path", "max_depth": 5}, "sensor": film(pixels), "sky": white,
    "table": {"type": "cylinder", "p0": [0, -.6, 0], "p1": [0, -.5, 0], "radius": .9, "bsdf": colour(.3, .2, .12)},
    "top": {"type": "disk", "to_world": t.translate([0, -.5, 0]).rotate([1, 0, 0], -90).scale(.9),
            "bsdf": {"type": "diffuse", "reflectance": {"type": "checkerboard", "to_uv": t.scale([2, 8, 1]),
                     "color0": {"type": "rgb", "value": [.8, .7, .5]}, "color1": {"type": "rgb", "value": [.1, .2, .35]}}}},
    "red": {"type": "sphere", "center": [-.35, -.15, .2], "radius": .35, "bsdf": colour(.8, .1, .06)},
    "blue": {"type": "cube", "to_world": t.translate([.4, -.2, .1]).rotate([0, 1, 0], 30).scale([.2, .3, .2]),
             "bsdf": colour(.08, .2, .7)},
    "green": {"type": "sphere", "center": [.05, .05, -.4], "radius": .3, "bsdf": colour(.15, .6, .12)},
})
photographer = bl.Job(real, sensor_moves=True)


def photograph(pose, spp=64):
    photographer.set_sensor(0, pose)
    return photographer.render(spp=spp)


count = 24
views = [{"target": photograph(camera(k, count)), "to_world": camera(k, count)} for k in range(count)]

# %% [markdown]
# The field begins as thin grey fog. A step sees a batch of pixels of all photographs, so its cost does not grow
# with their number.

# %%
field = bl.load_dict({
    "type": "scene", "integrator": {"type": "radiance_field"}, "sensor": film(pixels), "sky": white,
    "field": {"type": "sh_field", "density_activation": "softplus", "color_activation": "sigmoid",
              "to_world": t.translate([-1, -1, -1]).scale(2),
              "density": {"type": "gridvolume", "data": np.full((side, side, side, 1), -2., np.float32)},
              "sh_coeffs": {"type": "gridvolume", "data": np.zeros((side, side, side, 12), np.float32)}},
})
density, colours = "field.density.data", "field.sh_coeffs.data"
fit = bl.Fit(field, {density: {"rate": .3}, colours: {"rate": .1}}, views=views, spp=1, batch=2048, schedule=[(90, .3)])
for step in range(4):
    fit.run(30)
    print("step %3d  loss %.5f" % (fit.status["step"], fit.losses[-1]))

# %% [markdown]
# Three photographs that the fit has not seen (above), and the field from there (below).

# %%
looker = bl.Job(field, [density, colours], sensor_moves=True)
for name in (density, colours):
    looker[name] = fit[name]
rows, qualities = [[], []], []
for k in (1.5, 8.5, 17.5):
    looker.set_sensor(0, camera(k, count))
    rows[0].append(photograph(camera(k, count), 256))
    rows[1].append(looker.render(spp=16))
    qualities.append(bl.compare(rows[1][-1], rows[0][-1])["psnr"])
picture = np.concatenate([np.concatenate(row, axis=1) for row in rows])
picture = bl.Bitmap(picture.repeat(3, axis=0).repeat(3, axis=1))
picture.write("radiance_field.png")
print("unseen views: " + ", ".join("%.1f dB" % value for value in qualities))
picture

# %% [markdown]
# **In Mitsuba 3** there is no such integrator: its tutorial on radiance fields writes one, some eighty lines of Python
# with a ray march and spherical harmonics in `dr`, and loops over cameras with `mi.ad.Adam`. From a folder of
# photographs the program does all of this: `backlight import photos -o field.json`, `backlight fit field.json`.

# %%
if min(qualities) < 20:
    sys.exit("the field was not found")
