#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mesh.py FOLDER [RINGS]: the Cornell box with a bumpy ball of about 70,000 triangles in it, as
FOLDER/scene.xml and FOLDER/ball.ply.

A sphere of RINGS x 2 RINGS quads (default 134) whose radius waves with direction, on the short box. For
`backlight bench FOLDER/scene.xml`: a scene that is too large to become constants of its kernels."""
import math
import os
import struct
import sys

CENTRE, RADIUS = (1.86, 2.65, 1.69), 0.85


def point(ring, step, rings):
    theta, phi = math.pi * ring / rings, math.pi * step / rings
    d = (math.sin(theta) * math.cos(phi), math.cos(theta), math.sin(theta) * math.sin(phi))
    r = RADIUS * (1 + 0.08 * math.sin(9 * d[0] + 1) * math.sin(11 * d[1]) * math.sin(10 * d[2] + 2)
                  + 0.01 * math.sin(70 * d[0]) * math.sin(70 * d[1] + 60 * d[2]))
    return tuple(c + r * x for c, x in zip(CENTRE, d))


def triangles(rings):
    for ring in range(rings):
        for step in range(2 * rings):
            a, b = ring * 2 * rings + step, ring * 2 * rings + (step + 1) % (2 * rings)
            c, d = a + 2 * rings, b + 2 * rings
            if ring > 0:  # the poles' quads are triangles
                yield a, b, c
            if ring < rings - 1:
                yield b, d, c


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder, rings = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 134
    os.makedirs(folder, exist_ok=True)
    points = [point(ring, step, rings) for ring in range(rings + 1) for step in range(2 * rings)]
    faces = list(triangles(rings))
    with open(os.path.join(folder, "ball.ply"), "wb") as f:
        f.write(b"ply\nformat binary_little_endian 1.0\nelement vertex %d\nproperty float x\nproperty float "
                b"y\nproperty float z\n"
                b"element face %d\nproperty list uchar int vertex_indices\nend_header\n" %
                (len(points), len(faces)))
        f.write(b"".join(struct.pack("<3f", *p) for p in points))
        f.write(b"".join(struct.pack("<B3i", 3, *t) for t in faces))
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "scene.xml")) as f:
        scene = f.read()
    ball = ('    <shape type="ply" id="ball">\n        <string name="filename" value="ball.ply"/>\n'
            '        <boolean name="face_normals" value="true"/>\n        <ref id="white"/>\n    </shape>\n')
    with open(os.path.join(folder, "scene.xml"), "w") as f:
        f.write(scene.replace("</scene>", ball + "</scene>"))
    print("%s: %d triangles" % (os.path.join(folder, "scene.xml"), len(faces)))


main()
