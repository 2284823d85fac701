#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes a bumpy sphere of about N triangles as a binary PLY file, and a scene that shows it.

    tests/tools/large_mesh.py 10000000 FOLDER     FOLDER/mesh.ply, FOLDER/scene.xml
    tests/tools/large_mesh.py                     checks a small one of its own

For measurements of loading, building and tracing (docs/decisions/native-engine.md). Needs numpy; 10 million triangles take
190 MB on disk and a few seconds."""
import argparse
import os
import tempfile

import numpy as np

SCENE = """<scene version="3.0.0">
    <integrator type="path"><integer name="max_depth" value="4"/></integrator>
    <sensor type="perspective">
        <float name="fov" value="40"/>
        <transform name="to_world"><lookat origin="2.2,1.8,1.5" target="0,0,0" up="0,0,1"/></transform>
        <film type="hdrfilm"><integer name="width" value="640"/><integer name="height" value="480"/></film>
        <sampler type="independent"><integer name="sample_count" value="4"/></sampler>
    </sensor>
    <shape type="ply"><string name="filename" value="mesh.ply"/></shape>
    <emitter type="constant"/>
</scene>
"""


def positions(k):
    """A (k + 1) x (k + 1) grid of polar and azimuthal angles; the radius varies by a tenth."""
    theta, phi = np.meshgrid(np.pi * np.arange(k + 1) / k, 2 * np.pi * np.arange(k + 1) / k, indexing="ij")
    r = 1 + 0.1 * np.sin(9 * theta) * np.cos(11 * phi)
    p = np.stack([r * np.sin(theta) * np.cos(phi), r * np.sin(theta) * np.sin(phi), r * np.cos(theta)], -1)
    return p.reshape(-1, 3).astype("<f4")


def faces(k):
    corner = (np.arange(k)[:, None] * (k + 1) + np.arange(k)[None, :]).reshape(-1)
    rows = np.empty(2 * k * k, dtype=[("count", "u1"), ("corner", "<i4", 3)])
    rows["count"] = 3
    rows["corner"][0::2] = np.stack([corner, corner + k + 1, corner + 1], -1)
    rows["corner"][1::2] = np.stack([corner + 1, corner + k + 1, corner + k + 2], -1)
    return rows


def write(triangles, folder):
    k = max(2, round((triangles / 2) ** 0.5))
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "mesh.ply"), "wb") as f:
        f.write(
            (
                "ply\nformat binary_little_endian 1.0\n"
                f"element vertex {(k + 1) ** 2}\nproperty float x\nproperty float y\nproperty float z\n"
                f"element face {2 * k * k}\nproperty list uchar int vertex_indices\nend_header\n"
            ).encode()
        )
        positions(k).tofile(f)
        faces(k).tofile(f)
    with open(os.path.join(folder, "scene.xml"), "w", encoding="ascii") as f:
        f.write(SCENE)


def check():
    """Sizes are those of the header, faces name vertices, and all of them together enclose a ball of about 1."""
    with tempfile.TemporaryDirectory() as folder:
        write(20000, folder)
        with open(os.path.join(folder, "mesh.ply"), "rb") as f:
            header, data = f.read().split(b"end_header\n", 1)
    words = header.split()
    vertices, count = (int(words[words.index(name) + 1]) for name in (b"vertex", b"face"))
    assert count == 20000 and len(data) == 12 * vertices + 13 * count
    p = np.frombuffer(data, "<f4", 3 * vertices).reshape(-1, 3).astype(float)
    rows = np.frombuffer(data, [("count", "u1"), ("corner", "<i4", 3)], count, 12 * vertices)
    assert (rows["count"] == 3).all() and rows["corner"].min() == 0 and rows["corner"].max() == vertices - 1
    a, b, c = (p[rows["corner"][:, k]] for k in range(3))
    volume = (np.cross(a, b) * c).sum() / 6
    assert 0.9 * 4 / 3 * np.pi < volume < 1.1 * 4 / 3 * np.pi, volume


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("triangles", type=int, nargs="?")
    parser.add_argument("folder", nargs="?")
    args = parser.parse_args()
    if args.triangles is None:
        check()
    elif args.folder is None:
        parser.error("FOLDER is missing")
    else:
        write(args.triangles, args.folder)


if __name__ == "__main__":
    main()
