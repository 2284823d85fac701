# SPDX-License-Identifier: BSD-3-Clause
"""A scene out of a dictionary, a picture of it, and the same scene with another colour.

    python python/examples/first_render.py

Mitsuba 3: the dictionary is the same, mi.load_dict(..), mi.render(scene, spp=64), mi.traverse(scene) and
params.update() are, too; the image is a mi.TensorXf there, a NumPy array here."""
import backlight as bl

scene = bl.load_dict({
    "type": "scene",
    "integrator": {"type": "path", "max_depth": 6},
    "sensor": {
        "type": "perspective", "fov": 35,
        "to_world": bl.Transform.look_at(origin=[0, 1.5, 6], target=[0, .8, 0], up=[0, 1, 0]),
        "film": {"type": "hdrfilm", "width": 128, "height": 96},
    },
    "sky": {"type": "constant", "radiance": {"type": "rgb", "value": [.6, .7, .8]}},
    "floor": {"type": "rectangle", "to_world": bl.Transform.rotate([1, 0, 0], -90).scale(5)},
    "paint": {"type": "plastic", "diffuse_reflectance": {"type": "rgb", "value": [.1, .3, .7]}},
    "ball": {"type": "sphere", "center": [0, 1, 0], "radius": 1, "material": {"type": "ref", "id": "paint"}},
})
print(scene, "on", bl.default_device().name)

image = bl.render(scene, spp=64)
image.write("first_render.png")
print("blue: mean", image.mean(axis=(0, 1)))

params = bl.traverse(scene)
params["paint.diffuse_reflectance.value"] = [.7, .2, .1]
params.update()
again = bl.render(scene, spp=64)
again.write("first_render_red.exr")
print("red:  mean", again.mean(axis=(0, 1)))
