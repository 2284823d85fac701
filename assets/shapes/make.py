#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the meshes of this folder, the jobs that name their vertices or views, and, by rendering, the targets of
head.json: make.py, in this folder, with BL_PROGRAM or ../../build/backlight.

Surfaces are radial functions over a ball: a ball of triangles from an octahedron, each point r(d) d. The targets
show a finer mesh than the one that is fitted to them, so that the fit cannot find its very vertices."""
import json
import math
import os
import struct
import subprocess

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", os.path.join("..", "..", "build", "backlight")))
VIEWS = 8
LEVELS = 4
KNOT = (64, 8)  # points along the loop, points around it


# ---- meshes ----

def write_ply(name, vertices, faces):
    with open(name, "wb") as f:
        f.write(("ply\nformat binary_little_endian 1.0\nelement vertex %d\nproperty float x\nproperty float y\n"
                 "property float z\nelement face %d\nproperty list uchar int vertex_indices\nend_header\n"
                 % (len(vertices), len(faces))).encode())
        for v in vertices:
            f.write(struct.pack("<3f", *v))
        for t in faces:
            f.write(struct.pack("<B3i", 3, *t))


def unit(v):
    length = math.sqrt(sum(c * c for c in v))
    return tuple(c / length for c in v)


def ball(levels):
    """A ball of triangles: an octahedron, each of whose triangles is cut into four so many times."""
    vertices = [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]
    faces = [(0, 2, 4), (2, 1, 4), (1, 3, 4), (3, 0, 4), (2, 0, 5), (1, 2, 5), (3, 1, 5), (0, 3, 5)]
    for _ in range(levels):
        middle, cut = {}, []
        for a, b, c in faces:
            ends = []
            for i, j in ((a, b), (b, c), (c, a)):
                key = (min(i, j), max(i, j))
                if key not in middle:
                    middle[key] = len(vertices)
                    vertices.append(unit(tuple(x + y for x, y in zip(vertices[i], vertices[j]))))
                ends.append(middle[key])
            ab, bc, ca = ends
            cut += [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        faces = cut
    return vertices, faces


def turned(d):
    """So that no vertex of the start is one of the truth."""
    x, y, z = d
    x, y = 0.8 * x - 0.6 * y, 0.6 * x + 0.8 * y
    return x, 0.8 * y - 0.6 * z, 0.6 * y + 0.8 * z


# Of a head with two ears, a nose and a chin: direction, how far it stands out, how narrow it is.
BUMPS = [((0.45, 0.05, 1), 0.62, 14), ((-0.5, 0.1, 0.9), 0.5, 14), ((0, -1, -0.1), 0.28, 9),
         ((0.25, -0.6, -0.9), 0.12, 6), ((0, 1, 0.3), 0.1, 3)]


def head(d):
    return 0.62 + sum(h * math.exp(w * (sum(a * b for a, b in zip(d, unit(at))) - 1)) for at, h, w in BUMPS)


def oblique(p):
    """Turned so that z leads along (1, 1, 1). So no lamp of shadows.xml sees the ring from its edge: its front and its
    back would then throw one shadow, which does not say which of them should move."""
    x, y, z = p
    a, b, c = x / math.sqrt(2), y / math.sqrt(6), z / math.sqrt(3)
    return a + b + c, b - a + c, c - 2 * b


def loop(bent):
    """A closed tube. bent: the truth, a loop that leaves its plane; else a ring."""
    along, around = KNOT
    radius, vertices, faces = 0.09, [], []

    def centre(u):
        r = 0.7 + (0.2 * math.cos(2 * u + 0.5) if bent else 0)
        z = 0.25 * math.sin(2 * u) + 0.1 * math.cos(3 * u) if bent else 0
        return r * math.cos(u), r * math.sin(u), z

    for i in range(along):
        u = 2 * math.pi * i / along
        p, q = centre(u), centre(u + 1e-4)
        t = unit(tuple(b - a for a, b in zip(p, q)))
        side = unit((t[1], -t[0], 0))
        up = (side[1] * t[2] - side[2] * t[1], side[2] * t[0] - side[0] * t[2], side[0] * t[1] - side[1] * t[0])
        for k in range(around):
            v = 2 * math.pi * k / around
            vertices.append(oblique(p[c] + radius * (math.cos(v) * side[c] + math.sin(v) * up[c])
                                    for c in range(3)))
            a, b = i * around + k, i * around + (k + 1) % around
            c, d = (i + 1) % along * around + k, (i + 1) % along * around + (k + 1) % around
            faces += [(a, c, b), (b, c, d)]
    return vertices, faces


# ---- jobs ----

def head_view(k):
    angle, height = 2 * math.pi * k / VIEWS, (1.2, -0.8)[k % 2]
    return {"origin": [round(3.6 * math.cos(angle), 4), round(3.6 * math.sin(angle), 4), height],
            "target": [0, 0, 0.1], "up": [0, 0, 1]}


def wall_view(k):
    toward, up = ((0, 0, -1), (-1, 0, 0), (0, 1, 0))[k], ((0, 1, 0), (0, 0, 1), (0, 0, 1))[k]
    return {"origin": [1.2 * c for c in toward], "target": [2.7 * c for c in toward], "up": list(up)}


def job(scene, views, parameter, schedule, **more):
    """A job whose targets are rendered here, of the mesh that is the truth."""
    seen = []
    for k, view in enumerate(views):
        target = "%s_%d.exr" % (scene, k)
        place = [x for name in view for x in ("-D", name + "=" + ", ".join("%g" % c for c in view[name]))]
        subprocess.run([PROGRAM, "render", scene + ".xml", "-D", "mesh=%s.ply" % more["truth"], *place, "--spp",
                        str(more["target_spp"]), "--seed", str(100 + k), "-o", target, "--quiet"], check=True)
        seen.append({"to_world": view, "target": target})
    whole = {"$schema": "../../docs/fit-job.schema.json", "scene": scene + ".xml", "views": seen, "loss": "l2",
             "parameters": [parameter], "optimizer": {"type": "adam", "beta_2": 0.99},
             "schedule": [{"step": step, "factor": factor} for step, factor in schedule], "steps": more["steps"],
             "spp": more["spp"], "spp_grad": more["spp"], "seed": 1}
    with open(scene + ".json", "w", encoding="utf-8") as f:
        f.write(json.dumps(whole, indent=4) + "\n")


def main():
    vertices, faces = ball(LEVELS)
    write_ply("head.ply", [tuple(head(d) * c for c in d) for d in vertices], faces)
    write_ply("ball.ply", [tuple(0.7 * c for c in turned(d)) for d in vertices], faces)
    for name, bent in (("ring.ply", False), ("loop.ply", True)):
        write_ply(name, *loop(bent))
    job("head", [head_view(k) for k in range(VIEWS)],
        {"name": "head.vertex_positions", "large_steps": {"lambda": 12}, "rate": 0.05},
        ((150, 0.3), (180, 0.1)), truth="head", target_spp=64, steps=200, spp=2)
    job("shadows", [wall_view(k) for k in range(3)],
        {"name": "loop.vertex_positions", "large_steps": {"lambda": 15}, "rate": 0.04},
        ((120, 0.3), (150, 0.1)), truth="loop", target_spp=256, steps=170, spp=8)


if __name__ == "__main__":
    main()
