# SPDX-License-Identifier: BSD-3-Clause
# %% [markdown]
# # A first picture
#
# A scene out of a dictionary, a picture of it, and the same scene with another colour.

# %%
import numpy as np

import backlight as bl

t = bl.Transform
scene = bl.load_dict({
    "type": "scene",
    "integrator": {"type": "path", "max_depth": 8},
    "sensor": {
        "type": "perspective", "fov": 40, "to_world": t.look_at(origin=[0, 1.7, 7], target=[0, .85, 0], up=[0, 1, 0]),
        "film": {"type": "hdrfilm", "width": 240, "height": 150},
    },
    "sky": {"type": "constant", "radiance": {"type": "rgb", "value": [.25, .3, .4]}},
    "lamp": {"type": "rectangle", "to_world": t.translate([0, 5, 2]).rotate([1, 0, 0], 90).scale(1.2),
             "emitter": {"type": "area", "radiance": {"type": "rgb", "value": [16, 14, 11]}}},
    "floor": {"type": "rectangle", "to_world": t.rotate([1, 0, 0], -90).scale(8), "bsdf": {
        "type": "diffuse", "reflectance": {"type": "checkerboard", "to_uv": t.scale([10, 10, 1])}}},
    "paint": {"type": "plastic", "diffuse_reflectance": {"type": "rgb", "value": [.05, .2, .7]}},
    "gold": {"type": "sphere", "center": [-1.9, .7, -.6], "radius": .7,
             "bsdf": {"type": "roughconductor", "material": "Au", "alpha": .2}},
    "ball": {"type": "sphere", "center": [0, 1, -1], "radius": 1, "material": {"type": "ref", "id": "paint"}},
    "glass": {"type": "sphere", "center": [1.6, .7, .4], "radius": .7, "bsdf": {"type": "dielectric"}},
})
image = bl.render(scene, spp=128)
print(scene, "on", bl.default_device().name)
image

# %% [markdown]
# An image is a NumPy array of linear values. `traverse` has the parameters of the scene by name: their shapes, and
# which of them have gradients.

# %%
params = bl.traverse(scene)
params["paint.diffuse_reflectance.value"] = [.7, .1, .05]
params.update()
again = bl.render(scene, spp=128)
again.write("first_render_red.exr")

picture = bl.Bitmap(np.concatenate([image, again], axis=1))
picture.write("first_render.png")
print("mean of the first image", image.mean(axis=(0, 1)), "and of the second", again.mean(axis=(0, 1)))
picture

# %% [markdown]
# **In Mitsuba 3** the dictionary is the same. `mi.set_variant("llvm_ad_rgb")` comes first, then
# `mi.load_dict(..)`, `mi.render(scene, spp=128)`, `mi.traverse(scene)` and `params.update()` as here. The image is a
# `mi.TensorXf` there, and `np.array(image)` copies it.
