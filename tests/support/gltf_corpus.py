#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes tests/data/gltf, small glTF files that together have everything that the reader knows: inputs of the fuzz
target. Usage: gltf_corpus.py FOLDER"""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support.gltf_scene import Scene, ball, looking, quad  # noqa: E402


def plain():
    s = Scene()
    m = s.add("materials", {"name": "M", "pbrMetallicRoughness": {"baseColorFactor": [0.5, 0.25, 1, 1]}})
    s.node(mesh=s.mesh(s.primitive(*quad(1), material=m)), name="Quad", translation=[0, 1, 0])
    s.node(camera=s.add("cameras", {"type": "perspective", "perspective": {"yfov": 1, "znear": 0.1}}),
           matrix=looking([0, 2, 4], [0, 0, 0]))
    return s


def geometry():
    s = Scene()
    p, f, n, uv = quad(1)
    colours = {"COLOR_0": s.accessor([[255, 0, 9, 128]] * 4, "uint8", True)}
    s.mesh(s.primitive(p, f, n, uv, index="uint8", attributes=colours),
           s.primitive(p, [0, 3, 1, 2], mode=5), s.primitive(p, [0, 3, 2, 1], mode=6),
           {"attributes": {"POSITION": s.accessor([[9, 9, 9]] * 3, stride=16, sparse=([0, 2], p[:2]))}},
           {"attributes": {"POSITION": s.accessor(np.multiply(p[:3], 32767), "int16", True, stride=8)}},
           {"attributes": {"POSITION": s.accessor(p)}, "mode": 1})
    inner = s.node(False, mesh=0, rotation=[0, 0.6, 0, 0.8], scale=[1, -1, 2])
    s.node(children=[inner], matrix=[1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 3, 2, 1, 1])
    many = s.mesh(s.primitive(*ball(12)))
    s.node(mesh=many, name="a")
    s.node(mesh=many, name="a", translation=[2, 0, 0])
    return s


def materials():
    s = Scene()
    pixels = np.arange(64, dtype=np.uint8).reshape(4, 4, 4) * 4
    t = [s.texture(pixels, "T", sampler={"wrapS": 33071, "wrapT": 33648, "magFilter": 9728}),
         s.texture(pixels[..., :3], file="texture.png"), s.texture(pixels[..., :1])]
    transform = {"KHR_texture_transform": {"offset": [0.5, 0], "rotation": 1, "scale": [2, 3], "texCoord": 0}}
    pbr = {"baseColorTexture": {"index": t[0], "extensions": transform}, "metallicRoughnessTexture": {"index": t[1]},
           "baseColorFactor": [1, 0.5, 1, 0.5], "roughnessFactor": 0.5}
    every = [{"pbrMetallicRoughness": pbr, "alphaMode": "MASK", "doubleSided": True,
              "normalTexture": {"index": t[1], "scale": 0.5}, "occlusionTexture": {"index": t[2]}},
             {"pbrMetallicRoughness": {"metallicFactor": 0}, "extensions": {
                 "KHR_materials_transmission": {"transmissionFactor": 1, "transmissionTexture": {"index": t[2]}},
                 "KHR_materials_ior": {"ior": 1.3}}},
             {"extensions": {"KHR_materials_clearcoat": {"clearcoatFactor": 1, "clearcoatTexture": {"index": t[2]}},
                             "KHR_materials_sheen": {"sheenColorFactor": [1, 0, 0]},
                             "KHR_materials_volume": {"thicknessFactor": 1},
                             "KHR_materials_specular": {"specularFactor": 0.5}}},
             {"emissiveFactor": [1, 1, 0], "emissiveTexture": {"index": t[1]}, "alphaMode": "BLEND", "extensions": {
                 "KHR_materials_emissive_strength": {"emissiveStrength": 3}}}]
    p, f, n, uv = quad(1)
    for m in every:
        s.node(mesh=s.mesh(s.primitive(p, f, n, uv, s.add("materials", m))))
    s.json["extensionsUsed"] = ["KHR_texture_transform", "OWN_unknown"]
    return s


def views():
    s = plain()
    s.json["extensions"] = {"KHR_lights_punctual": {"lights": [
        {"type": "point", "range": 3}, {"type": "directional", "intensity": 2, "color": [1, 0, 1]},
        {"type": "spot", "spot": {"innerConeAngle": 0.2, "outerConeAngle": 0.4}}]}}
    for k in range(3):
        s.node(rotation=[0.6, 0, 0, 0.8], extensions={"KHR_lights_punctual": {"light": k}})
    s.node(name="flat", camera=s.add("cameras", {"type": "orthographic", "orthographic": {
        "xmag": 1, "ymag": 2, "znear": 0, "zfar": 9}}))
    s.json.update(animations=[{"name": "A"}], skins=[{}])
    return s


def main(folder):
    os.makedirs(folder, exist_ok=True)
    plain().save(os.path.join(folder, "plain.gltf"))
    plain().save(os.path.join(folder, "embedded.gltf"), True)
    for make in (geometry, materials, views):
        make().save(os.path.join(folder, make.__name__ + ".glb"))


if __name__ == "__main__":
    main(sys.argv[1])
