# SPDX-License-Identifier: BSD-3-Clause
"""Makes a scene in Blender and exports it by Mitsuba's add-on, or renders such a scene in Mitsuba; scripts/compare-blender calls
it by a Python that has both (bpy, mitsuba of PyPI):

    blender_scene.py export SCENE.xml ADDON [export_ids] [split_files]
    blender_scene.py render SCENE.xml IMAGES.npy COUNT SPP

Floor with a texture, gold, glass, a coated cube, copies of a collection; a point light, a sun, an area light, a spot, a
coloured world. Everything is Blender's own; nothing is made for Mitsuba."""
import math
import os
import sys

import numpy as np


def material(name, **inputs):
    import bpy
    made = bpy.data.materials.new(name)
    made.use_nodes = True
    node = made.node_tree.nodes["Principled BSDF"]
    for key, value in inputs.items():
        node.inputs[key.replace("_", " ")].default_value = value
    return made


def put(add, of, smooth=False, **how):
    import bpy
    add(**how)
    bpy.context.object.data.materials.append(of)
    if smooth:
        bpy.ops.object.shade_smooth()
    return bpy.context.object


def link(thing):
    import bpy
    bpy.context.scene.collection.objects.link(thing)
    return thing


def lamp(kind, energy, location, rotation=(0, 0, 0), color=(1, 1, 1), **more):
    import bpy
    data = bpy.data.lights.new(kind.capitalize(), kind)
    for key, value in {"energy": energy, "color": color, **more}.items():
        setattr(data, key, value)
    made = link(bpy.data.objects.new(data.name, data))
    made.location, made.rotation_euler = location, rotation


def tiled_floor():
    import bpy
    image = bpy.data.images.new("Checker", 8, 8)
    tiles = np.indices((8, 8)).sum(0) % 2 * 0.6 + 0.2
    image.pixels = np.dstack([tiles, tiles, 0.5 * tiles, np.ones_like(tiles)]).ravel().tolist()
    floor = material("Floor", Roughness=0.8)
    nodes, links = floor.node_tree.nodes, floor.node_tree.links
    texture = nodes.new("ShaderNodeTexImage")
    texture.image = image
    links.new(texture.outputs["Color"], nodes["Principled BSDF"].inputs["Base Color"])
    return floor


def things():
    import bpy
    mesh = bpy.ops.mesh
    paint = material("Paint", Base_Color=(0.2, 0.3, 0.8, 1), Roughness=0.4, Coat_Weight=0.5, Coat_Roughness=0.1)
    gold = material("Gold", Base_Color=(1, 0.7, 0.3, 1), Metallic=1, Roughness=0.25)
    glass = material("Glass", Base_Color=(0.9, 0.9, 0.9, 1), Roughness=0.3, Transmission_Weight=1, IOR=1.45)
    put(mesh.primitive_plane_add, tiled_floor(), size=10)
    put(mesh.primitive_uv_sphere_add, gold, True, radius=1, location=(0, 0, 1))
    put(mesh.primitive_cube_add, paint, size=1.2, location=(-2, 0.5, 0.6), rotation=(0, 0, 0.5))
    put(mesh.primitive_ico_sphere_add, glass, True, radius=0.7, subdivisions=4, location=(1.8, -0.8, 0.7))
    ring = put(mesh.primitive_torus_add, paint, major_radius=0.4, minor_radius=0.15, location=(0, 0, 0.15))
    rings = bpy.data.collections.new("Rings")
    for of in ring.users_collection:
        of.objects.unlink(ring)
    rings.objects.link(ring)
    for x in (-1.2, 0.6):
        copy = link(bpy.data.objects.new("Copy", None))
        copy.instance_type, copy.instance_collection, copy.location = "COLLECTION", rings, (x, -2, 0.02)


def make():
    import bpy
    bpy.ops.wm.read_homefile(use_empty=True)
    scene = bpy.context.scene
    things()
    lamp("POINT", 300, (3, -3, 4), color=(1, 0.9, 0.8), shadow_soft_size=0)
    lamp("SUN", 0.5, (0, 0, 5), (0.5, 0.3, 0))
    lamp("AREA", 200, (-3, -2, 4), (0.5, -0.5, 0), size=1.5)
    lamp("SPOT", 400, (0, 3, 4), (-0.6, 0, 0), spot_size=0.9, spot_blend=0.3, shadow_soft_size=0)
    camera = link(bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera")))
    camera.location, camera.rotation_euler = (0, -8, 3.2), (math.radians(75), 0, 0)
    scene.camera, scene.world = camera, bpy.data.worlds.new("World")
    scene.world.use_nodes = True
    scene.world.node_tree.nodes["Background"].inputs[0].default_value = (0.1, 0.15, 0.25, 1)
    scene.render.engine, scene.cycles.samples = "CYCLES", 64
    scene.render.resolution_x, scene.render.resolution_y, scene.render.resolution_percentage = 160, 120, 100


def export(path, addon, options):
    """The operator of the add-on's menu. The add-on itself is not enabled: it wants one version of Mitsuba, installed by it."""
    import bpy
    import mitsuba
    mitsuba.set_variant("scalar_rgb")
    parent, name = os.path.split(os.path.abspath(addon))
    sys.path.insert(0, parent)
    __import__(name + ".io")
    sys.modules[name + ".io"].register()
    make()
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    done = bpy.ops.export_scene.mitsuba(filepath=path, ignore_background=False, **{option: True for option in options})
    return 0 if done == {"FINISHED"} else 1


def render(path, output, count, spp):
    import mitsuba
    mitsuba.set_variant("scalar_rgb")
    scene = mitsuba.load_file(path)
    np.save(output, np.stack([np.array(mitsuba.render(scene, spp=int(spp), seed=k))[..., :3] for k in range(int(count))]))
    return 0


if __name__ == "__main__":
    status = export(sys.argv[2], sys.argv[3], sys.argv[4:]) if sys.argv[1] == "export" else render(*sys.argv[2:])
    os._exit(status)  # Mitsuba's threads and Blender's wait for each other at the end of a process
